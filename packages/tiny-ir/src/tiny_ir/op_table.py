"""One row an op: how many sources it takes, the dtype and shape it gives, where it may stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tiny_ir import shapes
from tiny_ir.dtypes import DType, bool_, uint64, void, weakint
from tiny_ir.op import Op
from tiny_ir.sizes import Shape

if TYPE_CHECKING:
    from tiny_ir.uop import UOp

GRAPH_LEVEL, KERNEL_LEVEL, PROGRAM_LEVEL = "graph", "kernel", "program"
EVERYWHERE = frozenset((GRAPH_LEVEL, KERNEL_LEVEL, PROGRAM_LEVEL))
ONLY_GRAPH = frozenset((GRAPH_LEVEL,))
ONLY_PROGRAM = frozenset((PROGRAM_LEVEL,))
LOWERED = frozenset((KERNEL_LEVEL, PROGRAM_LEVEL))

DTypeRule = Callable[["tuple[UOp, ...]"], DType]
ShapeRule = Callable[["tuple[UOp, ...]", Any], Shape]


class OpRow:
    """What is fixed about an op.

    `dtype_of` is None where the node itself says its dtype (leaves and casts). `maximum_arity` is
    None where any number of further sources may follow.
    """

    __slots__ = (
        "dtype_of",
        "is_commutative",
        "is_elementwise",
        "is_movement",
        "levels",
        "maximum_arity",
        "minimum_arity",
        "shape_of",
    )

    def __init__(
        self,
        minimum_arity: int,
        maximum_arity: int | None,
        dtype_of: DTypeRule | None,
        shape_of: ShapeRule,
        levels: frozenset[str],
        is_elementwise: bool = False,
        is_commutative: bool = False,
        is_movement: bool = False,
    ) -> None:
        self.minimum_arity = minimum_arity
        self.maximum_arity = maximum_arity
        self.dtype_of = dtype_of
        self.shape_of = shape_of
        self.levels = levels
        self.is_elementwise = is_elementwise
        self.is_commutative = is_commutative
        self.is_movement = is_movement


def _first(src: tuple[UOp, ...]) -> DType:
    return src[0].dtype


def _second(src: tuple[UOp, ...]) -> DType:
    return src[1].dtype


def _bool(src: tuple[UOp, ...]) -> DType:
    return bool_


def _void(src: tuple[UOp, ...]) -> DType:
    return void


def _weakint(src: tuple[UOp, ...]) -> DType:
    return weakint


def _range(src: tuple[UOp, ...]) -> DType:
    return src[0].dtype


def _uint64(src: tuple[UOp, ...]) -> DType:
    return uint64


def _alu(arity: int, dtype_of: DTypeRule | None = _first, *, swaps: bool = False) -> OpRow:
    return OpRow(arity, arity, dtype_of, shapes.elementwise, EVERYWHERE, True, swaps)


def _movement(shape_of: ShapeRule, maximum: int | None = 1) -> OpRow:
    return OpRow(1, maximum, _first, shape_of, ONLY_GRAPH, is_movement=True)


UNARY = (Op.NEG, Op.SQRT, Op.TRUNC, Op.FLOOR, Op.CEIL, Op.ROUND)
FUNCTIONS = (
    (Op.EXP, Op.EXP2, Op.EXPM1, Op.LOG, Op.LOG2, Op.LOG1P)
    + (Op.SIN, Op.COS, Op.TAN, Op.ASIN, Op.ACOS, Op.ATAN)
    + (Op.SINH, Op.COSH, Op.TANH, Op.ERF)
)
COMPARISONS = (Op.CMPLT, Op.CMPLE, Op.CMPEQ, Op.CMPNE)
COMMUTATIVE = (Op.ADD, Op.MUL, Op.MAX, Op.MIN, Op.AND, Op.OR, Op.XOR, Op.CMPEQ, Op.CMPNE)
ARITHMETIC = (
    Op.ADD,
    Op.SUB,
    Op.MUL,
    Op.FDIV,
    Op.FLOORDIV,
    Op.FLOORMOD,
    Op.CDIV,
    Op.CMOD,
    Op.MAX,
    Op.MIN,
) + (Op.AND, Op.OR, Op.XOR, Op.SHL, Op.SHR, Op.POW)

OP_TABLE: dict[Op, OpRow] = {
    Op.CONST: OpRow(0, 0, None, shapes.scalar, EVERYWHERE),
    Op.BUFFER: OpRow(0, 0, None, shapes.elements, ONLY_GRAPH),
    Op.PARAM: OpRow(0, 0, None, shapes.elements, EVERYWHERE),
    Op.VARIABLE: OpRow(0, 0, None, shapes.scalar, EVERYWHERE),
    Op.BIND: OpRow(2, 2, _first, shapes.scalar, ONLY_GRAPH),
    Op.RANGE: OpRow(1, 1, _range, shapes.scalar, EVERYWHERE),
    Op.SPECIAL: OpRow(1, 1, _range, shapes.scalar, LOWERED),
    Op.IOTA: OpRow(0, 0, None, shapes.lanes, EVERYWHERE),
    Op.SCRATCH: OpRow(0, 0, None, shapes.elements, LOWERED),
    Op.REGISTER: OpRow(0, 0, None, shapes.register, LOWERED),
    Op.STATE: OpRow(0, 0, None, shapes.state, ONLY_GRAPH),
    **{op: _alu(1) for op in UNARY + FUNCTIONS},
    Op.CAST: _alu(1, None),
    Op.BITCAST: _alu(1, None),
    **{op: _alu(2, swaps=op in COMMUTATIVE) for op in ARITHMETIC},
    **{op: _alu(2, _bool, swaps=op in COMMUTATIVE) for op in COMPARISONS},
    Op.THREEFRY: _alu(2, _uint64),
    Op.WHERE: _alu(3, _second),
    Op.FMA: _alu(3),
    Op.RESHAPE: _movement(shapes.reshape, None),
    Op.EXPAND: _movement(shapes.expand, None),
    Op.PERMUTE: _movement(shapes.permute),
    Op.PAD: _movement(shapes.pad, None),
    Op.SHRINK: _movement(shapes.shrink, None),
    Op.FLIP: _movement(shapes.flip),
    Op.WINDOW: _movement(shapes.window),
    Op.FOLD: OpRow(1, 1, _first, shapes.fold, ONLY_GRAPH),
    Op.REDUCE: OpRow(1, None, _first, shapes.reduce, EVERYWHERE),
    Op.LOOP: OpRow(3, None, _void, shapes.scalar, ONLY_GRAPH),
    Op.SCAN: OpRow(3, None, _void, shapes.scalar, ONLY_GRAPH),
    Op.CALL: OpRow(0, None, _void, shapes.scalar, ONLY_GRAPH),
    Op.GET: OpRow(1, 1, None, shapes.get, ONLY_GRAPH),
    Op.INDEX: OpRow(1, None, _first, shapes.index, EVERYWHERE),
    Op.SCATTER: OpRow(3, None, _first, shapes.first, ONLY_GRAPH),
    Op.CONTIGUOUS: OpRow(1, 1, _first, shapes.first, ONLY_GRAPH),
    Op.CONTIGUOUS_BACKWARD: OpRow(1, 1, _first, shapes.first, ONLY_GRAPH),
    Op.DETACH: OpRow(1, 1, _first, shapes.first, ONLY_GRAPH),
    Op.CUSTOM: OpRow(1, None, _first, shapes.first, ONLY_GRAPH),
    Op.COPY: OpRow(1, 1, _first, shapes.first, ONLY_GRAPH),
    Op.LOAD: OpRow(1, 3, _first, shapes.load, LOWERED),
    Op.STORE: OpRow(2, 3, _void, shapes.scalar, EVERYWHERE),
    Op.AFTER: OpRow(1, None, _first, shapes.first, EVERYWHERE),
    Op.END: OpRow(1, None, _void, shapes.scalar, LOWERED),
    Op.BARRIER: OpRow(0, None, _void, shapes.scalar, LOWERED),
    Op.PREFETCH: OpRow(1, 1, _void, shapes.scalar, ONLY_PROGRAM),
    Op.SINK: OpRow(0, None, _void, shapes.scalar, EVERYWHERE),
    Op.SPLAT: OpRow(1, 1, _first, shapes.splat, LOWERED),
    Op.STACK: OpRow(1, None, _first, shapes.stack, LOWERED),
    Op.EXTRACT: OpRow(1, 1, _first, shapes.scalar, LOWERED),
    Op.SHUFFLE: OpRow(1, 2, _first, shapes.shuffle, LOWERED),
}
ELEMENTWISE = frozenset(op for op, row in OP_TABLE.items() if row.is_elementwise)
MOVEMENT = frozenset(op for op, row in OP_TABLE.items() if row.is_movement)
