"""The only node: `UOp(op, dtype, src, arg)`; immutable, and interned: equal means identical."""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Sequence
from threading import RLock
from typing import Any, Union
from weakref import ref

from tiny_ir import settings
from tiny_ir.arguments import FoldArg, ReduceArg, WindowArg
from tiny_ir.check import check_node
from tiny_ir.dtypes import DType, bool_, weakint
from tiny_ir.errors import ArgumentError, DTypeError
from tiny_ir.floats import value_in
from tiny_ir.listing import Record, text_of, to_records
from tiny_ir.meaning import meaning
from tiny_ir.op import Op
from tiny_ir.op_table import OP_TABLE
from tiny_ir.sizes import Shape, Size, linear_form

Scalar = bool | int | float
Operand = Union["UOp", bool, int, float]


class UOp:
    """A node of the language. Build nodes with `make`, `const`, or the operators of other nodes.

    Attributes:
        op: what the node does.
        dtype: the type of its elements; `void` for effects.
        src: its sources, in the order that the op's row in `OP_TABLE` gives.
        arg: plain data that belongs to the op.
        shape: a tuple of sizes; () for one element.

    Example:
        >>> from tiny_ir import const, dtypes
        >>> const(dtypes.int32, 2) + 3 is const(dtypes.int32, 2) + 3
        True
    """

    __slots__ = ("__weakref__", "_bounds", "_order", "arg", "dtype", "op", "shape", "src")

    op: Op
    dtype: DType
    src: tuple[UOp, ...]
    arg: Any
    shape: Shape
    _bounds: tuple[int | float, int | float] | None
    _order: int | None

    def __reduce__(self) -> tuple[Any, ...]:
        return from_records, (to_records(self),)

    def __copy__(self) -> UOp:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> UOp:
        return self

    def __repr__(self) -> str:
        argument = "" if self.arg is None else f" {self.arg!r}"
        return f"<{self.op.name} {self.dtype.name}{list(self.shape)}{argument}>"

    def __str__(self) -> str:
        return text_of(self)

    def const_like(self, value: bool | int | float) -> UOp:
        """The constant `value` in this node's dtype, shape ()."""
        return const(self.dtype, value)

    def alu(self, op: Op, *others: Operand) -> UOp:
        """Apply an elementwise op with this node as first source."""
        sources = (self, *(self._other(other) for other in others))
        return make(op, None, sources)

    def _other(self, other: Operand) -> UOp:
        return other if isinstance(other, UOp) else const(self.dtype, other)

    def _integer(self, op: Op, other: Operand, *, swapped: bool = False) -> UOp:
        """Build an index expression; what is constant or neutral folds at once."""
        a, b = self, self._other(other)
        if swapped:
            a, b = b, a
        if a.dtype is weakint and b.dtype is weakint:
            folded = _folded_index(op, a, b)
            if folded is not None:
                return folded
        return make(op, None, (a, b))

    def __add__(self, other: Operand) -> UOp:
        return self._integer(Op.ADD, other)

    def __radd__(self, other: Operand) -> UOp:
        return self._integer(Op.ADD, other)

    def __sub__(self, other: Operand) -> UOp:
        return self._integer(Op.SUB, other)

    def __rsub__(self, other: Operand) -> UOp:
        return self._integer(Op.SUB, other, swapped=True)

    def __mul__(self, other: Operand) -> UOp:
        return self._integer(Op.MUL, other)

    def __rmul__(self, other: Operand) -> UOp:
        return self._integer(Op.MUL, other)

    def __floordiv__(self, other: Operand) -> UOp:
        return self._integer(Op.FLOORDIV, other)

    def __rfloordiv__(self, other: Operand) -> UOp:
        return self._integer(Op.FLOORDIV, other, swapped=True)

    def __mod__(self, other: Operand) -> UOp:
        return self._integer(Op.FLOORMOD, other)

    def __rmod__(self, other: Operand) -> UOp:
        return self._integer(Op.FLOORMOD, other, swapped=True)

    def __truediv__(self, other: Operand) -> UOp:
        return self.alu(Op.FDIV, other)

    def __rtruediv__(self, other: Operand) -> UOp:
        return self._other(other).alu(Op.FDIV, self)

    def __neg__(self) -> UOp:
        return self * -1 if self.dtype is weakint else self.alu(Op.NEG)

    def __and__(self, other: Operand) -> UOp:
        return _both(self, self._other(other))

    def __rand__(self, other: Operand) -> UOp:
        return _both(self._other(other), self)

    def __or__(self, other: Operand) -> UOp:
        return self.alu(Op.OR, other)

    def __ror__(self, other: Operand) -> UOp:
        return self._other(other).alu(Op.OR, self)

    def __xor__(self, other: Operand) -> UOp:
        return self.alu(Op.XOR, other)

    def __rxor__(self, other: Operand) -> UOp:
        return self._other(other).alu(Op.XOR, self)

    def __invert__(self) -> UOp:
        return self.alu(Op.XOR, True if self.dtype is bool_ else -1)

    def __lshift__(self, other: Operand) -> UOp:
        return self.alu(Op.SHL, other)

    def __rshift__(self, other: Operand) -> UOp:
        return self.alu(Op.SHR, other)

    def __lt__(self, other: Operand) -> UOp:
        return self.alu(Op.CMPLT, other)

    def __le__(self, other: Operand) -> UOp:
        return self.alu(Op.CMPLE, other)

    def __gt__(self, other: Operand) -> UOp:
        return self._other(other).alu(Op.CMPLT, self)

    def __ge__(self, other: Operand) -> UOp:
        return self._other(other).alu(Op.CMPLE, self)

    def eq(self, other: Operand) -> UOp:
        """Elementwise equality; `==` compares nodes by identity."""
        return self.alu(Op.CMPEQ, other)

    def ne(self, other: Operand) -> UOp:
        """Elementwise inequality; `!=` compares nodes by identity."""
        return self.alu(Op.CMPNE, other)

    def where(self, x: Operand, y: Operand) -> UOp:
        """Elementwise choice: `x` where this bool is true, else `y`."""
        if not isinstance(x, UOp):
            if not isinstance(y, UOp):
                raise DTypeError(
                    f"where({x}, {y}) has no dtype.",
                    why="at least one of the two values must be a node.",
                    fix="make one of them with const(dtype, value).",
                )
            x = const(y.dtype, x)
        return make(Op.WHERE, None, (self, x, x._other(y)))

    def maximum(self, other: Operand) -> UOp:
        """IEEE 754-2019 maximum: NaN propagates and -0 < +0."""
        return self._integer(Op.MAX, other)

    def minimum(self, other: Operand) -> UOp:
        """IEEE 754-2019 minimum: NaN propagates and -0 < +0."""
        return self._integer(Op.MIN, other)

    def cast(self, dtype: DType) -> UOp:
        """Convert values to `dtype`; the node itself where it has that dtype."""
        if dtype is self.dtype:
            return self
        return make(Op.CAST, dtype, (self,))

    def bitcast(self, dtype: DType) -> UOp:
        """Read the same bits as `dtype`, which is as wide."""
        if dtype is self.dtype:
            return self
        return make(Op.BITCAST, dtype, (self,))

    def reshape(self, shape: Sequence[Size]) -> UOp:
        """The same elements, row by row, under other sizes."""
        if tuple(shape) == self.shape:
            return self
        return self._move(Op.RESHAPE, shape)

    def expand(self, shape: Sequence[Size]) -> UOp:
        """Repeat axes of size 1."""
        if tuple(shape) == self.shape:
            return self
        return self._move(Op.EXPAND, shape)

    def permute(self, order: Sequence[int]) -> UOp:
        """Put the axes in another order."""
        if tuple(order) == tuple(range(len(self.shape))):
            return self
        return make(Op.PERMUTE, None, (self,), tuple(order))

    def pad(self, pairs: Sequence[tuple[Size, Size]]) -> UOp:
        """Add zeros before and after each axis."""
        if all(isinstance(n, int) and n == 0 for pair in pairs for n in pair):
            return self
        return self._move(Op.PAD, [pair[0] for pair in pairs] + [pair[1] for pair in pairs])

    def shrink(self, parts: Sequence[tuple[Size, Size]]) -> UOp:
        """Take the elements from `begin` up to `end` of each axis; `parts` lists (begin, end)."""
        sizes = [_difference(end, begin) for begin, end in parts]
        if tuple(sizes) == self.shape:
            return self
        return self._move(Op.SHRINK, [begin for begin, _ in parts] + sizes)

    def flip(self, axes: Sequence[int]) -> UOp:
        """Reverse the listed axes."""
        if not axes:
            return self
        return make(Op.FLIP, None, (self,), tuple(axes))

    def window(self, axis: int, size: int, stride: int = 1, dilation: int = 1) -> UOp:
        """Slide a window over `axis`; positions in the window become a new last axis."""
        return make(Op.WINDOW, None, (self,), WindowArg(axis, size, stride, dilation))

    def fold(self, axis: int, length: int, stride: int = 1, dilation: int = 1) -> UOp:
        """Sum windows back: the adjoint of `window`. The last axis goes, `axis` gets `length`."""
        return make(Op.FOLD, None, (self,), FoldArg(axis, length, stride, dilation))

    def reduce(self, op: Op, axes: Sequence[int] = (), ranges: Sequence[UOp] = ()) -> UOp:
        """Combine the elements along `axes`, or over kernel `ranges`, with ADD, MUL, MAX, ..."""
        if not axes and not ranges:
            return self
        sources = (self, *ranges)
        return make(Op.REDUCE, None, sources, ReduceArg(op, tuple(axes)))

    def index(self, *offsets: UOp) -> UOp:
        """The element, or the part, at computed positions."""
        return make(Op.INDEX, None, (self, *offsets))

    def store(self, value: UOp) -> UOp:
        """The effect of writing `value` here."""
        return make(Op.STORE, None, (self, value))

    def after(self, *effects: UOp) -> UOp:
        """This value, once the effects have happened."""
        return make(Op.AFTER, None, (self, *effects)) if effects else self

    def end(self, *ranges: UOp) -> UOp:
        """This effect, repeated over the ranges and done."""
        return make(Op.END, None, (self, *ranges)) if ranges else self

    def _move(self, op: Op, sizes: Sequence[Size]) -> UOp:
        nodes = tuple(size_node(size) for size in sizes)
        return make(op, None, (self, *nodes))


class _Reference(ref[UOp]):
    """A weak reference that knows where it is kept, so that a dead node can be taken out."""

    __slots__ = ("key", "table")
    key: Any
    table: _Table


_Table = dict[Any, _Reference]
"""Nodes of one op and dtype, by their sources, or by sources and argument where there is one."""

_TABLES: dict[Op, dict[DType, _Table]] = {op: {} for op in Op}
_SHAPE_RULES = {op: row.shape_of for op, row in OP_TABLE.items()}
_NAN = math.nan


_REMOVING = RLock()
"""Held from the look at a dead entry to its removal: another thread may enter a node in between."""
if hasattr(os, "register_at_fork"):  # a child has no thread that would let go of it
    os.register_at_fork(
        before=_REMOVING.acquire,
        after_in_parent=_REMOVING.release,
        after_in_child=_REMOVING.release,
    )


def _forget(reference: _Reference) -> None:
    with _REMOVING:
        if reference.table.get(reference.key) is reference:
            del reference.table[reference.key]


def make(
    op: Op,
    dtype: DType | None = None,
    src: tuple[UOp, ...] = (),
    arg: Any = None,
) -> UOp:
    """Return the one node with these parts.

    Args:
        op: what the node does.
        dtype: the element type; None where it follows from the sources.
        src: the sources.
        arg: plain data.

    Raises:
        DTypeError: the dtype is absent and does not follow from the sources.
        ShapeError: the sources' shapes do not fit the op.

    Example:
        >>> from tiny_ir import Op, const, dtypes, make
        >>> make(Op.ADD, None, (const(dtypes.int32, 1), const(dtypes.int32, 2))).dtype.name
        'int32'
    """
    if dtype is None:
        rule = OP_TABLE[op].dtype_of
        if rule is None:
            raise DTypeError(
                f"{op.name} needs a dtype.",
                why="the dtype of leaves and casts does not follow from their sources.",
                fix="pass dtype=...",
            )
        dtype = rule(src)
    if op is Op.CONST:
        return const(dtype, arg)
    return interned(op, dtype, src, arg)


def interned(op: Op, dtype: DType, src: tuple[UOp, ...], arg: Any) -> UOp:
    """Return the one node with these parts, which are known to be right; no constant."""
    tables = _TABLES[op]
    table = tables.get(dtype)
    if table is None:
        table = tables.setdefault(dtype, {})
    key = src if arg is None else (src, arg)
    reference = table.get(key)
    if reference is not None:
        node = reference()
        if node is not None:
            return node
    node = object.__new__(UOp)
    node.op = op
    node.dtype = dtype
    node.src = src
    node.arg = arg
    node.shape = _SHAPE_RULES[op](src, arg)
    node._bounds = None
    node._order = None
    if settings.CHECK_NODES:
        check_node(node)
    reference = _Reference(node, _forget)
    reference.table = table
    reference.key = key
    if table.setdefault(key, reference) is reference:
        return node
    return _entered(node, reference)


def _entered(node: UOp, reference: _Reference) -> UOp:
    """Enter a new node in its table; return the one that another thread has entered before."""
    table, key = reference.table, reference.key
    while True:
        present = table.setdefault(key, reference)
        if present is reference:
            return node
        # Another thread interned the same node first, or a dead entry is about to be removed.
        other = present()
        if other is not None:
            return other
        _forget(present)


def const(dtype: DType, value: Scalar) -> UOp:
    """Return the constant of `dtype` that `value` becomes: wrapped, or rounded to nearest even.

    Args:
        dtype: any dtype but void.
        value: a Python number.

    Returns:
        A node of shape (). Constants are one node when their dtype and bits are equal: 0.0 and
        -0.0 differ, and there is one NaN a dtype.

    Example:
        >>> from tiny_ir import const, dtypes
        >>> const(dtypes.uint8, 300).arg
        44
    """
    bits: Any
    if dtype.is_bool:
        value = bits = bool(value)
    elif dtype.is_float:
        value = value_in(dtype, value)
        if value != value:
            value, bits = _NAN, "nan"
        else:
            bits = struct.pack("<d", value)
    else:
        if value != value or value in (math.inf, -math.inf):
            raise ArgumentError(
                f"{value} is not a value of {dtype.name}.",
                why="integers have no infinities and no NaN.",
                fix="choose a float dtype or another value.",
            )
        value = bits = value_in(dtype, value)
    table = _TABLES[Op.CONST].setdefault(dtype, {})
    reference = table.get(bits)
    if reference is not None:
        node = reference()
        if node is not None:
            return node
    node = object.__new__(UOp)
    node.op = Op.CONST
    node.dtype = dtype
    node.src = ()
    node.arg = value
    node.shape = ()
    node._bounds = None
    node._order = None
    reference = _Reference(node, _forget)
    reference.table = table
    reference.key = bits
    return _entered(node, reference)


def from_records(records: Sequence[Record]) -> UOp:
    """Build the graph that `to_records` flattened, and return its root."""
    nodes: list[UOp] = []
    for op, dtype, positions, arg in records:
        nodes.append(make(op, dtype, tuple([nodes[position] for position in positions]), arg))
    return nodes[-1]


def live_nodes() -> int:
    """How many nodes are alive: for tests of memory."""
    return sum(len(table) for tables in _TABLES.values() for table in tables.values())


def size_node(size: Size) -> UOp:
    """The weakint node for a size."""
    return const(weakint, size) if isinstance(size, int) else size


def _difference(end: Size, begin: Size) -> Size:
    if isinstance(begin, int) and begin == 0:
        return end
    difference = end - begin
    terms, constant = linear_form(difference)
    return difference if terms else constant


def _both(a: UOp, b: UOp) -> UOp:
    """AND; a constant true on either side of a bool is dropped at once: masks are built so."""
    if a.dtype is bool_:
        for this, other in ((a, b), (b, a)):
            if this.op is Op.CONST:
                return other if this.arg else (this if other.shape == () else a.alu(Op.AND, b))
        if a is b:
            return a
    return a.alu(Op.AND, b)


def _folded_index(op: Op, a: UOp, b: UOp) -> UOp | None:
    """The node that an index expression is equal to, where that needs no proof.

    Weakint is a mathematical integer, so these hold without a look at bounds.
    """
    if b.op is not Op.CONST:
        if a.op is Op.CONST and op in (Op.ADD, Op.MUL, Op.MAX, Op.MIN):
            folded = _folded_index(op, b, a)
            return folded if folded is not None else make(op, None, (b, a))
        return const(weakint, 0) if op is Op.SUB and a is b else None
    if a.op is Op.CONST:
        return const(weakint, meaning(op, weakint)(a.arg, b.arg))
    value: int = b.arg
    if op is Op.ADD or op is Op.SUB:
        if value == 0:
            return a
        if op is Op.SUB:
            return a + -value
        if a.op is Op.ADD and a.src[1].op is Op.CONST:
            first: int = a.src[1].arg
            return a.src[0] + (first + value)
    elif op is Op.MUL:
        if value == 0:
            return b
        if value == 1:
            return a
        if a.op is Op.MUL and a.src[1].op is Op.CONST:
            factor: int = a.src[1].arg
            return a.src[0] * (factor * value)
    elif op is Op.FLOORDIV and value == 1:
        return a
    elif op is Op.FLOORMOD and abs(value) == 1:
        return const(weakint, 0)
    return None
