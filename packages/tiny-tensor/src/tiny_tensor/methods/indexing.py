"""Reading and writing parts of a Tensor: `x[...]` and `x[...] = value`."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from types import EllipsisType
from typing import TYPE_CHECKING, Self, TypeAlias, Union

from tiny_ir import (
    ArgumentTypeError,
    IndexingError,
    Op,
    Shape,
    ShapeError,
    Size,
    UOp,
    is_same_shape,
    make,
    product,
    size_node,
)
from tiny_plugin import boundary, record
from tiny_tensor.arrays import is_array
from tiny_tensor.broadcast import broadcast, broadcast_shape
from tiny_tensor.methods.gathering import GatheringMethods, true_positions
from tiny_tensor.methods.positions import from_start
from tiny_tensor.methods.slicing import picked, sliced

Item: TypeAlias = Union[int, slice, UOp, EllipsisType, "IndexingMethods", None]


@record(frozen=True, slots=True)
class Selection:
    """What a key chooses.

    Attributes:
        view: the tensor after all integers and slices of the key.
        axes: the axes of `view` that tensors index.
        positions: one node for each of these axes, all of one shape, counted from 0.
        at: where the axes of the positions stand in the result.
        mask: the bools that a lone mask was, else None.
    """

    view: UOp
    axes: tuple[int, ...]
    positions: tuple[UOp, ...]
    at: int
    mask: UOp | None

    @property
    def order(self) -> tuple[int, ...]:
        """The axes of `view`, those that are indexed first."""
        rest = [axis for axis in range(len(self.view.shape)) if axis not in self.axes]
        return (*self.axes, *rest)

    @property
    def shape(self) -> Shape:
        """The shape of the positions."""
        return broadcast_shape(*[position.shape for position in self.positions])

    @property
    def result_order(self) -> tuple[int, ...]:
        """The axes (positions, then the rest) as they stand in the result."""
        count = len(self.shape)
        rest = len(self.view.shape) - len(self.axes)
        before = range(count, count + self.at)
        return (*before, *range(count), *range(count + self.at, count + rest))


@boundary
class IndexingMethods(GatheringMethods):
    """Indexing with integers, slices, None and an ellipsis gives views; with tensors, copies."""

    __slots__ = ()

    if TYPE_CHECKING:

        def _value_to_write(self, value: object) -> UOp:
            """The node of a value in the dtype of this tensor; see `Tensor.assign`."""

    def __getitem__(self, key: object) -> Self:
        """Take a part.

        Args:
            key: integers, slices, None, an ellipsis, bools, tensors or lists of integers, masks; or
                a tuple of these. A position in a tensor that is out of range reads 0; negative ones
                count from the end. A mask computes where it is true.

        Raises:
            IndexingError: an integer is out of range, or there are too many indices.
        """
        selection = self._selection(key)
        if not selection.axes:
            return self._view(selection.view)
        table = selection.view.permute(selection.order)
        found = gathered(table, selection.positions, selection.shape)
        return self._apply(found.permute(selection.result_order))

    def __setitem__(self, key: object, value: object) -> None:
        """Write a part in place; see `__getitem__` for keys.

        Where tensors name a place several times, the last value stays; what is out of range is
        not written.

        A mask that stands alone, beside slices, is never counted here. One value for all its places
        needs no count. Where there are several, they are taken in order, and that they are as many
        as the places is looked at when numbers are next read from the device; until then, values
        that are too many are left out, and places for which there is none stay as they are. In a
        captured or mapped function nobody looks.

        Raises:
            ShapeError: the value does not broadcast to the part; or, when numbers are read next,
                there were not as many values as places.
            DTypeError: the value is a tensor of another dtype.
        """
        selection = self._selection(key, counts=False)
        part = self._view(selection.view)
        if not selection.axes:
            if not isinstance(value, type(self)) or value.uop is not part.uop:
                part.assign(value)
            return
        node = self._value_to_write(value)
        written = self._masked(selection, node)
        if written is None:
            selection = self._selection(key)
            part = self._view(selection.view)
            table = selection.view.permute(selection.order)
            shape = (*selection.shape, *table.shape[len(selection.axes) :])
            order = selection.result_order
            spread = broadcast(node, tuple(shape[axis] for axis in order))
            if 0 in spread.shape:
                return  # nothing is chosen
            values = spread.permute([order.index(axis) for axis in range(len(order))])
            positions = [broadcast(position, selection.shape) for position in selection.positions]
            result = make(Op.SCATTER, None, (table, values, *positions))
            back = [selection.order.index(axis) for axis in range(len(selection.order))]
            written = result.permute(back)
        part.assign(self._apply(written))

    def _masked(self, selection: Selection, value: UOp) -> UOp | None:
        """The view with values where a mask is true; None where that is not alone."""
        mask = selection.mask
        if mask is None:
            return None
        view = selection.view
        (axis,) = selection.axes
        places = product(mask.shape)
        spread = (*view.shape[:axis], 1, *view.shape[axis + 1 :])
        sizes = value.shape[max(0, len(value.shape) - len(spread)) :]
        behind = len(spread) - axis
        count = sizes[-behind] if len(sizes) >= behind else 1
        wide = broadcast(value, (*spread[:axis], count, *spread[axis + 1 :]))
        chosen = mask.reshape((places,))
        if not isinstance(count, int) or count != 1:
            ranks = self._apply(chosen).cumsum(0)
            self._expect(ranks, count)
            positions = ranks.uop - 1
            order = [axis, *(at for at in range(len(view.shape)) if at != axis)]
            found = wide.permute(order).index(positions)
            wide = found.permute([order.index(at) for at in range(len(order))])
            chosen = chosen & (ranks.uop <= size_node(count).cast(ranks.dtype))
        whole = chosen.reshape((*(1,) * axis, places, *(1,) * (behind - 1)))
        sources = (broadcast(whole, view.shape), broadcast(wide, view.shape), view)
        return make(Op.WHERE, None, sources)

    def _expect(self, ranks: Self, count: Size) -> None:
        """Expect a mask to have `count` places; its ranks are how many there are up to each."""
        session, length = self._session, ranks.shape[0]
        if not isinstance(count, int) or not isinstance(length, int):
            return
        if count > length:
            raise ShapeError(
                f"cannot write {count} values where a mask of {length} elements is true.",
                why="there is one value for each place that it has.",
                fix="pass as many values as the mask has places, or one for all of them.",
            )
        if session.capture is None and length:
            last = ranks.uop.shrink([(length - 1, length)]).reshape(())
            session.expectations.expect(self, last, count)

    def _selection(self, key: object, *, counts: bool = True) -> Selection:
        """What a key chooses; without `counts` the positions of masks are left out."""
        items = self._items(key if isinstance(key, tuple) else (key,))
        is_advanced = any(isinstance(item, IndexingMethods) for item in items)
        # Counting computes, and may leave this tensor another node: so it comes first.
        counted = [
            true_positions(item) if counts else item.uop
            for item in items
            if isinstance(item, IndexingMethods) and item.dtype.is_bool
        ]
        node = self.uop
        axis = taken = at = 0
        axes: list[int] = []
        positions: list[UOp] = []
        places: list[int] = []
        mask: UOp | None = None
        for place, item in enumerate(items):
            named = f"axis {taken} of shape {self.shape}"
            taken += _axes_of(item)
            if item is Ellipsis:
                continue
            if is_advanced and isinstance(item, IndexingMethods | int | UOp):
                at = at if places else axis
                places.append(place)
            if isinstance(item, int | UOp):
                node = picked(node, axis, item, named)
                continue
            if item is None:
                node = node.reshape((*node.shape[:axis], 1, *node.shape[axis:]))
            elif isinstance(item, slice):
                node = sliced(node, axis, item, named)
            elif isinstance(item, IndexingMethods):
                if item.dtype.is_bool:
                    mask = item.uop
                    node = _flattened(node, axis, mask)
                    positions.append(counted.pop(0))
                else:
                    positions.append(from_start(item.uop, node.shape[axis]))
                axes.append(axis)
            axis += 1
        if places and places != list(range(places[0], places[-1] + 1)):
            at = 0
        lone = mask if len(places) == 1 else None
        return Selection(node, tuple(axes), tuple(positions), at, lone)

    def _items(self, key: tuple[object, ...]) -> list[Item]:
        """A key with an item for every axis; lists and arrays are tensors."""
        items = [self._item(item) for item in key]
        used = sum(_axes_of(item) for item in items)
        rank = self.ndim
        if used > rank:
            raise IndexingError(
                f"too many indices: {used}.",
                why=f"the tensor has {rank} axes.",
                fix="leave some out.",
            )
        dots = [n for n, item in enumerate(items) if item is Ellipsis]
        if len(dots) > 1:
            raise IndexingError(
                "an index has more than one ellipsis.",
                why="an ellipsis stands for all axes that are left.",
                fix="keep one of them.",
            )
        at = dots[0] if dots else len(items)
        # An ellipsis that stands for no axis still parts the tensors on its sides, as in NumPy.
        between: list[Item] = (
            [slice(None)] * (rank - used) if used < rank else [Ellipsis] * len(dots)
        )
        return [*items[:at], *between, *items[at + 1 :]]

    def _item(self, item: object) -> Item:
        if item is None or item is Ellipsis or isinstance(item, slice | UOp):
            return item
        if isinstance(item, int):
            if not isinstance(item, bool):
                return item
        elif isinstance(item, Integral):
            return int(item)
        if isinstance(item, bool | list | tuple) or is_array(item):
            tensor = type(self)(item, device=self.device)  # type: ignore[call-arg]
            item = tensor.cast("int32") if tensor.numel() == 0 and tensor.dtype.is_float else tensor
        if isinstance(item, IndexingMethods):
            if item.dtype.is_float:
                raise IndexingError(
                    f"a tensor of {item.dtype.name} is not an index.",
                    why="positions are integers, and masks are bools.",
                    fix="cast it to an integer first.",
                )
            return self._wrap(item)
        raise ArgumentTypeError(
            f"{item!r} is not an index.",
            why="an index is an integer, a slice, None, an ellipsis, a list, an array or a Tensor.",
            fix="write one of these.",
        )


def _axes_of(item: Item) -> int:
    """How many axes an item takes."""
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if isinstance(item, IndexingMethods) and item.dtype.is_bool else 1


def _flattened(node: UOp, axis: int, mask: UOp) -> UOp:
    """The node with the axes that a mask takes as one."""
    count = len(mask.shape)
    taken: Sequence[Size] = node.shape[axis : axis + count]
    if not is_same_shape(tuple(taken), mask.shape):
        raise IndexingError(
            f"a mask of shape {mask.shape} does not fit axes of sizes {tuple(taken)}.",
            why="a mask says for each element whether it is taken.",
            fix="give the mask the shape of the axes that it indexes.",
        )
    return node.reshape((*node.shape[:axis], product(mask.shape), *node.shape[axis + count :]))


def gathered(table: UOp, positions: Sequence[UOp], shape: Shape) -> UOp:
    """INDEX: the elements of the first axes of a table at positions that broadcast to `shape`."""
    return table.index(*[broadcast(position, shape) for position in positions])
