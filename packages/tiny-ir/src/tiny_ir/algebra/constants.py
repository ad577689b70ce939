"""Fold what is constant through the one meaning that each op has, and casts that change nothing."""

from __future__ import annotations

from tiny_ir.bounds import bounds
from tiny_ir.dtypes import DType, can_losslessly_cast, weakint
from tiny_ir.meaning import meaning
from tiny_ir.op import Op
from tiny_ir.op_table import COMPARISONS, ELEMENTWISE, OP_TABLE
from tiny_ir.pattern import anything, constant, node
from tiny_ir.rule import Rule, rule
from tiny_ir.uop import UOp, const, make

x, y = anything("x"), anything("y")
a, b, c = constant("a"), constant("b"), constant("c")

_LONGEST = 512
"""Bits of a folded index; longer shifts and powers of index constants stay as they are."""


def _of_arity(arity: int) -> tuple[Op, ...]:
    return tuple(op for op in ELEMENTWISE_IN_ORDER if OP_TABLE[op].minimum_arity == arity)


ELEMENTWISE_IN_ORDER = tuple(op for op in OP_TABLE if op in ELEMENTWISE)
_UNARY, _BINARY, _TERNARY = _of_arity(1), _of_arity(2), (Op.FMA,)
_COMMUTATIVE = tuple(op for op in _BINARY if OP_TABLE[op].is_commutative)


@rule(node(_UNARY, a, name="root"))
def function_of_a_constant_is_constant(root: UOp, a: UOp) -> UOp | None:
    return const(root.dtype, meaning(root.op, root.dtype, a.dtype)(a.arg))


@rule(node(_BINARY, a, b, name="root"))
def operation_on_constants_is_constant(root: UOp, a: UOp, b: UOp) -> UOp | None:
    if a.dtype is weakint and root.op in (Op.SHL, Op.POW):
        size = b.arg if root.op is Op.SHL else b.arg * a.arg.bit_length()
        if size > _LONGEST:
            return None
    return const(root.dtype, meaning(root.op, root.dtype, a.dtype)(a.arg, b.arg))


@rule(node(_TERNARY, a, b, c, name="root"))
def multiply_add_of_constants_is_constant(root: UOp, a: UOp, b: UOp, c: UOp) -> UOp | None:
    return const(root.dtype, meaning(root.op, root.dtype, a.dtype)(a.arg, b.arg, c.arg))


@rule(node(_COMMUTATIVE, a, x, name="root", in_order=True))
def constant_stands_last(root: UOp, a: UOp, x: UOp) -> UOp | None:
    return make(root.op, None, (x, a)) if x.op is not Op.CONST else None


@rule(node(Op.CAST, x, name="root"))
def cast_to_the_same_dtype_is_nothing(root: UOp, x: UOp) -> UOp | None:
    return x if x.dtype is root.dtype else None


@rule(node(Op.CAST, node(Op.CAST, x, name="y"), name="root"))
def cast_of_a_lossless_cast_is_one_cast(root: UOp, x: UOp, y: UOp) -> UOp | None:
    """What the inner cast keeps, or what the outer one drops anyway, needs no inner cast."""
    if can_losslessly_cast(x.dtype, y.dtype) or is_kept(x, y.dtype):
        return x.cast(root.dtype)
    if x.dtype.is_int and y.dtype.is_int and root.dtype.is_int and not root.dtype.is_weak:
        return x.cast(root.dtype) if y.dtype.bits >= root.dtype.bits else None
    return None


@rule(node(Op.BITCAST, x, name="root"))
def bitcast_to_the_same_dtype_is_nothing(root: UOp, x: UOp) -> UOp | None:
    if x.dtype is root.dtype:
        return x
    return x.src[0].bitcast(root.dtype) if x.op is Op.BITCAST else None


def is_kept(node: UOp, dtype: DType) -> bool:
    """Whether every value that an integer or bool node can have is a value of an integer dtype."""
    if not dtype.is_int or node.dtype.is_float:
        return False
    low, high = bounds(node)
    return bool(dtype.minimum <= low and high <= dtype.maximum)


# Integer arithmetic on indices is index arithmetic where it cannot wrap ---------------------------

_LIFTED = (Op.ADD, Op.SUB, Op.MUL, Op.FLOORDIV, Op.FLOORMOD, Op.CDIV, Op.CMOD, Op.MAX, Op.MIN)


def _index_behind(source: UOp) -> UOp | None:
    """The index expression that a fixed-width integer is equal to, or None."""
    if source.op is Op.CONST:
        return const(weakint, source.arg)
    if source.op is Op.CAST and source.src[0].dtype is weakint:
        inner = source.src[0]
        return inner if is_kept(inner, source.dtype) else None
    return None


@rule(node(_LIFTED, x, y, name="root"))
def arithmetic_on_indices_is_index_arithmetic(root: UOp, x: UOp, y: UOp) -> UOp | None:
    if x.op is not Op.CAST and y.op is not Op.CAST:
        return None
    if not root.dtype.is_int or root.dtype.is_weak:
        return None
    left, right = _index_behind(x), _index_behind(y)
    if left is None or right is None:
        return None
    lifted = make(root.op, None, (left, right))
    return lifted.cast(root.dtype) if is_kept(lifted, root.dtype) else None


@rule(node(COMPARISONS, x, y, name="root"))
def comparison_of_indices_is_index_comparison(root: UOp, x: UOp, y: UOp) -> UOp | None:
    if x.op is not Op.CAST and y.op is not Op.CAST:
        return None
    if not x.dtype.is_int or x.dtype.is_weak:
        return None
    left, right = _index_behind(x), _index_behind(y)
    if left is None or right is None:
        return None
    return make(root.op, None, (left, right))


@rule(node(Op.CAST, node((Op.ADD, Op.SUB, Op.MUL), name="x"), name="root"))
def cast_of_a_sum_that_cannot_wrap_is_an_index(root: UOp, x: UOp) -> UOp | None:
    """An index made from fixed-width arithmetic, where no operation can leave its dtype."""
    if root.dtype is not weakint or not x.dtype.is_int or x.dtype.is_weak:
        return None
    if not any(source.op is Op.CONST for source in x.src):
        return None
    lifted = make(x.op, None, tuple(source.cast(weakint) for source in x.src))
    return lifted if is_kept(lifted, x.dtype) else None


CONSTANT_RULES: tuple[Rule, ...] = (
    function_of_a_constant_is_constant,
    operation_on_constants_is_constant,
    multiply_add_of_constants_is_constant,
    constant_stands_last,
    cast_to_the_same_dtype_is_nothing,
    cast_of_a_lossless_cast_is_one_cast,
    bitcast_to_the_same_dtype_is_nothing,
    arithmetic_on_indices_is_index_arithmetic,
    comparison_of_indices_is_index_comparison,
    cast_of_a_sum_that_cannot_wrap_is_an_index,
)
