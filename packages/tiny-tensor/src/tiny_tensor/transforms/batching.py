"""A graph for one row becomes the graph for all rows: rules that give each op one more first axis.

A node that does not depend on rows stays as it is, so that it is computed once. All others get an
axis of as many rows in front; none is copied a row at a time, whatever their number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from tiny_ir import (
    ELEMENTWISE,
    GradientError,
    Op,
    Size,
    StateArg,
    UOp,
    dtypes,
    make,
    product,
    rebuild,
    size_node,
    toposort,
)
from tiny_tensor.gradient.rule import sum_over, zeros
from tiny_tensor.methods.scan import RECURRENCES
from tiny_tensor.session import current_session
from tiny_tensor.transforms.walking import body_of
from tiny_tensor.transforms.writes import as_value

Rows: TypeAlias = UOp | None
"""A node for all rows, which are its first axis; None where it is the same for each."""

BatchRule: TypeAlias = Callable[[UOp, Sequence[Rows], Size], UOp]
"""From a node, its sources for all rows, not all of them None, and the number of rows."""


def repeated(node: UOp, size: Size) -> UOp:
    """A node that is the same for each row, for all rows."""
    return node.reshape((1, *node.shape)).expand((size, *node.shape))


def elementwise(node: UOp, rows: Sequence[Rows], size: Size) -> UOp:
    """All sources get the axis; one element that all rows share stands beside any shape."""
    sources: list[UOp] = []
    for source, row in zip(node.src, rows, strict=True):
        if row is None:
            sources.append(source if source.shape == () else repeated(source, size))
        else:
            sources.append(_beside(row, source.shape, node.shape, size))
    return rebuild(node, tuple(sources))


def _beside(row: UOp, old: Sequence[Size], shape: Sequence[Size], size: Size) -> UOp:
    """A row's source of shape () in the shape of the sources beside it."""
    if len(old) == len(shape):
        return row
    return row.reshape((size, *(1,) * len(shape))).expand((size, *shape))


def same(node: UOp, rows: Sequence[Rows], size: Size) -> UOp:
    """The op itself, of all rows."""
    return rebuild(node, (_only(rows),))


def sized(node: UOp, rows: Sequence[Rows], size: Size) -> UOp:
    """RESHAPE and EXPAND: the rows stand before the sizes."""
    return rebuild(node, (_only(rows), size_node(size), *node.src[1:]))


def permute(node: UOp, rows: Sequence[Rows], size: Size) -> UOp:
    """The rows stay in front."""
    return _only(rows).permute((0, *(axis + 1 for axis in node.arg)))


def pad(node: UOp, rows: Sequence[Rows], size: Size) -> UOp:
    """No row is added."""
    rank = len(node.shape)
    before, after = node.src[1 : 1 + rank], node.src[1 + rank :]
    none = size_node(0)
    return rebuild(node, (_only(rows), none, *before, none, *after))


def shrink(node: UOp, rows: Sequence[Rows], size: Size) -> UOp:
    """All rows are kept."""
    rank = len(node.shape)
    begins, sizes = node.src[1 : 1 + rank], node.src[1 + rank :]
    return rebuild(node, (_only(rows), size_node(0), *begins, size_node(size), *sizes))


def flip(node: UOp, rows: Sequence[Rows], size: Size) -> UOp:
    """The rows keep their order."""
    return _only(rows).flip([axis + 1 for axis in node.arg])


def window(node: UOp, rows: Sequence[Rows], size: Size) -> UOp:
    """WINDOW and FOLD of the axis after the rows."""
    return make(node.op, None, (_only(rows),), node.arg._replace(axis=node.arg.axis + 1))


def reduction(node: UOp, rows: Sequence[Rows], size: Size) -> UOp:
    """The same axes, after the rows."""
    return _only(rows).reduce(node.arg.op, [axis + 1 for axis in node.arg.axes])


def gather(node: UOp, rows: Sequence[Rows], size: Size) -> UOp:
    """Positions are in a table that all rows share, or each row has a table of its own."""
    table, *positions = node.src
    own, *moved = rows
    count = len(positions)
    shape = node.shape[: len(node.shape) - len(table.shape) + count]
    if own is None:
        return table.index(*_positions(positions, moved, shape, size))
    if all(row is None for row in moved):
        # The rows go behind the axes that are indexed, and in front again.
        order = (*range(1, count + 1), 0, *range(count + 1, len(own.shape)))
        found = own.permute(order).index(*positions)
        rank = len(shape)
        return found.permute((rank, *range(rank), *range(rank + 1, len(found.shape))))
    return own.index(_numbers_of_rows(shape, size), *_positions(positions, moved, shape, size))


def scatter(node: UOp, rows: Sequence[Rows], size: Size) -> UOp:
    """Each row writes to a memory of its own."""
    base, value, *positions = node.src
    first = repeated(base, size) if rows[0] is None else rows[0]
    second = repeated(value, size) if rows[1] is None else rows[1]
    shape = node.shape[len(positions) :]
    places = value.shape[: len(value.shape) - len(shape)]
    where = _positions(positions, rows[2:], places, size)
    return make(Op.SCATTER, None, (first, second, _numbers_of_rows(places, size), *where), node.arg)


def _positions(
    positions: Sequence[UOp], rows: Sequence[Rows], shape: Sequence[Size], size: Size
) -> list[UOp]:
    """Positions for all rows, each of the one shape that they have together."""
    found: list[UOp] = []
    for position, row in zip(positions, rows, strict=True):
        if row is not None:
            found.append(_beside(row, position.shape, shape, size))
        else:
            spread = position
            if not position.shape:
                spread = position.reshape((1,) * len(shape)).expand(tuple(shape))
            found.append(repeated(spread, size))
    return found


def _numbers_of_rows(shape: Sequence[Size], size: Size) -> UOp:
    """The number of the row, at every position."""
    if not isinstance(size, int):
        raise GradientError(
            f"cannot write at computed positions in {size} rows.",
            why="the number of rows must be known when the graph is built.",
            fix="map over an axis whose size is a number.",
        )
    counting = make(Op.IOTA, dtypes.weakint, (), max(size, 1)).cast(dtypes.int64)
    rows = counting.shrink([(0, size)]).reshape((size, *(1,) * len(shape)))
    return rows.expand((size, *shape))


def custom(node: UOp, rows: Sequence[Rows], size: Size) -> UOp:
    """A user function of all rows: its gradient is that of each row."""
    value, *inputs = (
        source if row is None else row for source, row in zip(node.src, rows, strict=True)
    )
    if rows[0] is None:
        value = repeated(value, size)
    is_moving = tuple(row is not None for row in rows[1:])

    def rule(whole: UOp, g: UOp) -> list[UOp]:
        return _gradients_of_rows(whole, g, node.arg, is_moving)

    number = current_session().custom_gradients.number_of((node.arg, is_moving), rule)
    return make(Op.CUSTOM, None, (value, *inputs), number)


def _gradients_of_rows(whole: UOp, g: UOp, number: int, is_moving: tuple[bool, ...]) -> list[UOp]:
    """What the gradient function of one row says for all of them."""
    size = whole.shape[0]
    rows: dict[UOp, UOp] = {}
    inputs = [
        stand_in(source, rows) if moves else source
        for source, moves in zip(whole.src[1:], is_moving, strict=True)
    ]
    one = make(Op.CUSTOM, None, (stand_in(whole.src[0], rows), *inputs), number)
    parts = current_session().custom_gradients.parts(one, stand_in(g, rows))
    return [
        (repeated(part, size) if found is None else found)
        if moves
        else (part * size if found is None else sum_over(found, (0,)))
        for part, found, moves in zip(parts, batched(parts, rows, size), is_moving, strict=True)
    ]


def stand_in(whole: UOp, rows: dict[UOp, UOp]) -> UOp:
    """A node that stands for one row of another; it is entered in `rows`.

    It has no memory: whoever computes with it outside of a transformation is refused.
    """
    session = current_session()
    size, *shape = whole.shape
    like = zeros(tuple(shape), whole)
    buffer, row = session.new_place(like, session.default_device)
    session.finished.overwrite(buffer)
    rows[row] = whole
    if row is not buffer:
        count = product(tuple(shape))
        rows[buffer] = whole.reshape((size, count))
    return row


def _only(rows: Sequence[Rows]) -> UOp:
    row = rows[0]
    if row is None or any(other is not None for other in rows[1:]):
        raise GradientError(
            "a size or a position depends on the row.",
            why="all rows have one shape.",
            fix="take what the rows differ in out of sizes.",
        )
    return row


BATCHING: Mapping[Op, BatchRule] = MappingProxyType(
    {
        **dict.fromkeys(ELEMENTWISE, elementwise),
        **dict.fromkeys((Op.CONTIGUOUS, Op.CONTIGUOUS_BACKWARD, Op.DETACH, Op.COPY), same),
        Op.RESHAPE: sized,
        Op.EXPAND: sized,
        Op.PERMUTE: permute,
        Op.PAD: pad,
        Op.SHRINK: shrink,
        Op.FLIP: flip,
        Op.WINDOW: window,
        Op.FOLD: window,
        Op.REDUCE: reduction,
        Op.INDEX: gather,
        Op.SCATTER: scatter,
        Op.CUSTOM: custom,
    }
)
"""The rule of each op that can depend on the row."""


def batched(roots: Sequence[UOp], rows: Mapping[UOp, UOp], size: Size) -> list[Rows]:
    """Graphs of one row for all rows.

    Args:
        roots: the graphs.
        rows: for each node that stands for a row, all rows.
        size: their number.

    Returns:
        For each root the graph with the rows as first axis; None where it is the same for each.

    Raises:
        GradientError: an op on the way cannot depend on the row.
    """
    return Batch(rows, size).rows_of(roots)


class Batch:
    """Nodes for all rows, as they are found.

    Args:
        rows: for each node that stands for a row, all rows.
        size: their number.
    """

    def __init__(self, rows: Mapping[UOp, UOp], size: Size) -> None:
        self._known: dict[UOp, Rows] = dict(rows)
        self._size = size
        self._results: dict[UOp, UOp] = {}
        """For each recurrence, that of all rows."""

    def rows_of(self, roots: Sequence[UOp]) -> list[Rows]:
        """The graphs of roots for all rows."""
        for node in toposort(roots):
            if node not in self._known:
                self._known[node] = self._row(node)
        return [self._known[root] for root in roots]

    def _row(self, node: UOp) -> Rows:
        op = node.op
        if op in RECURRENCES:
            self._recurrence(node)
            return None
        if op is Op.GET and node.src[0].op is not Op.CALL:
            return self._result(node)
        if op is Op.AFTER:
            return self._after(node)
        if op is Op.STORE:
            return None
        rows = [self._known[source] for source in node.src]
        if all(row is None for row in rows):
            return None
        rule = BATCHING.get(op)
        if rule is None:
            raise GradientError(
                f"{op.name} cannot depend on the row.",
                why="there is no rule for it.",
                fix="compute it outside of the function.",
            )
        return rule(node, rows, self._size)

    def _after(self, node: UOp) -> Rows:
        below = [node.src[0], *(source for effect in node.src[1:] for source in effect.src)]
        if all(self._known[source] is None for source in below):
            return None
        return self.rows_of((as_value(node),))[0]

    def _recurrence(self, node: UOp) -> None:
        """One recurrence that carries the states of all rows."""
        arg = node.arg
        count = arg.states
        initial = node.src[1 : 1 + count]
        following = node.src[1 + count : 1 + 2 * count]
        rest = node.src[1 + 2 * count : 1 + 2 * count + arg.outputs]
        body = body_of(node)
        moving = {at for at, value in enumerate(initial) if self._known[value] is not None}
        while True:
            self._walk(node, body, moving)
            found = moving | {
                at for at, value in enumerate(following) if self._known[value] is not None
            }
            if found == moving:
                break
            moving = found
        conditions = node.src[1 + 2 * count + arg.outputs :]
        if any(self._known[condition] is not None for condition in conditions):
            raise GradientError(
                "whether a loop goes on depends on the row.",
                why="all rows take their steps together.",
                fix="loop a counted number of times.",
            )
        if not moving and all(self._known[value] is None for value in rest):
            return
        sources = (
            node.src[0],
            *(self._spread(value, at in moving) for at, value in enumerate(initial)),
            *(self._spread(value, at in moving) for at, value in enumerate(following)),
            *(self._spread(value, self._known[value] is not None) for value in rest),
            *conditions,
        )
        self._results[node] = make(node.op, None, sources, arg)

    def _walk(self, recurrence: UOp, body: Sequence[UOp], moving: set[int]) -> None:
        number = recurrence.arg.number
        for node in body:
            if node.op is Op.STATE and node.arg.number == number:
                self._known[node] = self._state(node) if node.arg.position in moving else None
            else:
                self._known[node] = self._row(node)

    def _state(self, node: UOp) -> UOp:
        if not isinstance(self._size, int):
            raise GradientError(
                f"cannot carry the states of {self._size} rows.",
                why="the sizes of states are numbers.",
                fix="map over an axis whose size is a number.",
            )
        number, position, shape = node.arg
        return make(Op.STATE, node.dtype, (), StateArg(number, position, (self._size, *shape)))

    def _spread(self, node: UOp, is_moving: bool) -> UOp:
        row = self._known[node]
        if row is not None:
            return row
        return repeated(node, self._size) if is_moving else node

    def _result(self, node: UOp) -> Rows:
        recurrence = node.src[0]
        again = self._results.get(recurrence)
        if again is None:
            return None
        at, states = node.arg, recurrence.arg.states
        place = 1 + at if at < states else 1 + states + at
        if len(again.src[place].shape) == len(recurrence.src[place].shape):
            return None
        found = make(Op.GET, node.dtype, (again,), at)
        if at < states:
            return found
        return found.permute((1, 0, *range(2, len(found.shape))))
