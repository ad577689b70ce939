"""A function of one row, called once, becomes what it does to all rows: `vmap`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import get_ident
from typing import TYPE_CHECKING, TypeVar, cast

from tiny_ir import ArgumentError, AxisError, JitError, ShapeError, Size, UOp, toposort
from tiny_plugin import boundary
from tiny_tensor.axes import resolved_axis
from tiny_tensor.engine.call_arguments import Place, tensors_in, with_leaves
from tiny_tensor.engine.launch_values import bound
from tiny_tensor.session import Session, current_session
from tiny_tensor.tensor_core import TensorCore
from tiny_tensor.transforms.batching import batched, repeated, stand_in

if TYPE_CHECKING:
    from tiny_tensor.storage import Storage

R = TypeVar("R")
Axes = int | None | Sequence[int | None]


class OneRow:
    """What a thread does while a function sees one row that stands for all of them.

    Args:
        session: in which the function runs.
        rows: for each node that stands for a row, all rows; it may still grow.
    """

    def __init__(self, session: Session, rows: dict[UOp, UOp]) -> None:
        self._session = session
        self._rows = rows
        self._thread = get_ident()
        self._outer = session.capture
        self._existing = list(session.live_tensors())
        self._boxes = {tensor._storage for tensor in self._existing}
        self._grads = [(tensor, tensor.grad) for tensor in self._existing]

    def __enter__(self) -> OneRow:
        self._session.begin_capture(self)
        return self

    def __exit__(self, *error: object) -> None:
        if self._outer is None:
            self._session.end_capture()
        else:
            self._session.begin_capture(self._outer)
        for tensor, grad in self._grads:
            tensor.grad = grad  # it would be that of one row

    def is_active(self) -> bool:
        """Whether this thread is the one that maps."""
        return get_ident() == self._thread

    def draw(self, count: int) -> tuple[UOp, UOp]:
        """Random numbers, which are the same for each row."""
        if self._outer is not None:
            return self._outer.draw(count)
        random = self._session.random
        return bound("position", random.take(count)), bound("key", random.key)

    def writes(self, storage: Storage) -> None:
        """Refuse a write to what was there before.

        Raises:
            JitError: it is one.
        """
        if storage in self._boxes:
            raise JitError(
                "a mapped function writes a tensor that was there before.",
                why="it runs once, for all rows, and each of them would write.",
                fix="return what it should hold, and write that.",
            )

    def makes(self, buffer: UOp) -> None:
        """The function made data, which is the same for each row."""
        if self._outer is not None:
            self._outer.makes(buffer)

    def reads(self, tensor: TensorCore) -> None:
        """Refuse to read numbers that differ from row to row.

        Raises:
            JitError: they do.
        """
        if any(node in self._rows for node in toposort((tensor.uop,))):
            raise JitError(
                "a mapped function asks for the numbers in a tensor.",
                why="it runs once, for all rows, and each of them has other numbers.",
                fix="return the tensor and read it outside, or use where() instead of if.",
            )
        if self._outer is not None:
            self._outer.reads(tensor)


@boundary
def vmap(
    function: Callable[..., R], in_axes: Axes = 0, out_axes: int | Sequence[int] = 0
) -> Callable[..., R]:
    """Make a function of rows a function of tensors that have many of them.

    The function runs once, and its graph gets one more axis: there are as many kernels for 100
    rows as for 2. Random numbers that it draws are the same for each row.

    Args:
        function: takes positional arguments and returns a tensor, or nested lists, tuples and dicts
            of tensors. It sees one row of each mapped argument, and may not read its numbers.
        in_axes: the axis of each argument that the rows lie along, or one for all; None where an
            argument is the same for each row. All tensors in a nested argument have one axis.
        out_axes: where the rows lie in each result, or one for all.

    Returns:
        A function of the same arguments with that axis more. What does not depend on the rows is
        repeated for each.

    Raises:
        ArgumentError: (when called) no argument is mapped, or there are other axes than arguments.
        AxisError: (when called) an argument does not have the axis.
        ShapeError: (when called) arguments have different numbers of rows.
        JitError: (when called) the function reads the numbers of a row.

    Example:
        >>> from tiny_tensor import Tensor
        >>> from tiny_tensor.transforms import vmap
        >>> dot = vmap(lambda x, y: (x * y).sum(), in_axes=(0, None))
        >>> dot(Tensor([[1, 2], [3, 4]]), Tensor([10, 1])).tolist()
        [12, 34]
    """

    def mapped(*args: object) -> R:
        session = current_session()
        rows: dict[UOp, UOp] = {}
        with session.lock:
            one_row = OneRow(session, rows)
            size, inner = _rows_of(args, _axes_of_arguments(in_axes, len(args)), rows)
            with one_row:
                result = function(*inner)
                return cast(R, _with_rows(result, rows, size, out_axes))

    return mapped


def _axes_of_arguments(in_axes: Axes, count: int) -> Sequence[int | None]:
    if in_axes is None or isinstance(in_axes, int):
        return [in_axes] * count
    if len(in_axes) != count:
        raise ArgumentError(
            f"there are {len(in_axes)} axes for {count} arguments.",
            why="each positional argument has an axis, or None.",
            fix="pass as many axes as arguments, or one for all.",
        )
    return in_axes


def _rows_of(
    args: Sequence[object], axes: Sequence[int | None], rows: dict[UOp, UOp]
) -> tuple[Size, list[object]]:
    """The number of rows, and the arguments with stand-ins for one of them."""
    sizes: list[Size] = []

    def one_row(tensor: TensorCore | Place, axis: int) -> TensorCore:
        assert isinstance(tensor, TensorCore)
        if not tensor.shape:
            raise AxisError(
                "a tensor of shape () has no rows.",
                why="it has no axis.",
                fix="pass None as its axis, so that it is the same for each row.",
            )
        along = resolved_axis(axis, tensor.ndim)
        node = tensor.uop
        order = (along, *(n for n in range(tensor.ndim) if n != along))
        sizes.append(node.shape[along])
        return tensor._apply(stand_in(node.permute(order), rows))

    inner = [
        arg if axis is None else with_leaves(arg, lambda t, axis=axis: one_row(t, axis))  # type: ignore[misc]
        for arg, axis in zip(args, axes, strict=True)
    ]
    if not sizes:
        raise ArgumentError(
            "a mapped function was called without a mapped tensor.",
            why="it is not known how many rows there are.",
            fix="give at least one argument an axis.",
        )
    if any(size != sizes[0] for size in sizes):
        raise ShapeError(
            f"the arguments have {sizes} rows.",
            why="rows of the same number belong together.",
            fix="map over axes of one size.",
        )
    return sizes[0], inner


def _with_rows(
    result: object, rows: dict[UOp, UOp], size: Size, out_axes: int | Sequence[int]
) -> object:
    """The results of a function for all rows."""
    if not isinstance(out_axes, int):
        if not isinstance(result, tuple | list) or len(result) != len(out_axes):
            raise ArgumentError(
                f"the function did not return {len(out_axes)} results.",
                why="each of them has an axis.",
                fix="pass as many axes as results, or one for all.",
            )
        items = [
            _with_rows(item, rows, size, axis) for item, axis in zip(result, out_axes, strict=True)
        ]
        return type(result)(items)
    tensors = list({id(tensor): tensor for tensor in tensors_in(result)}.values())
    found = batched([tensor.uop for tensor in tensors], rows, size)
    placed: dict[int, TensorCore] = {}
    for tensor, node in zip(tensors, found, strict=True):
        whole = repeated(tensor.uop, size) if node is None else node
        at = resolved_axis(out_axes, len(whole.shape))
        order = [*range(1, at + 1), 0, *range(at + 1, len(whole.shape))]
        placed[id(tensor)] = tensor._apply(whole.permute(order))
    return with_leaves(result, lambda tensor: placed[id(tensor)])
