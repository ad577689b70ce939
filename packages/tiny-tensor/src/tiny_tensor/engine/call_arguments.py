"""The arguments of a call: their tensors, and a key that is equal for calls that do the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from tiny_ir import JitError, Op, Size, UOp, substitute, toposort
from tiny_tensor.arrays import is_array
from tiny_tensor.tensor_core import TensorCore

Key: TypeAlias = tuple[object, ...]


class CallArguments:
    """Arguments taken apart: lists, tuples and dicts are looked into, however deep.

    Args:
        args: the positional ones.
        kwargs: those with names.

    Raises:
        JitError: there is something whose changes could not be seen.
    """

    def __init__(self, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        self.args = args
        self.kwargs = kwargs
        self.tensors: list[TensorCore] = []
        """The tensors, each once, in the order in which they are met."""
        self.numbers: dict[UOp, UOp] = {}
        """Bound variables among the arguments: the BIND of each VARIABLE."""
        self.kept: list[object] = []
        """Objects that are told apart by identity: it must not be used again."""
        self._positions: dict[int, int] = {}
        self.key: Key = (self._key_of(args), self._key_of(kwargs))

    def _key_of(self, value: object) -> Key:
        match value:
            case TensorCore():
                position = self._positions.setdefault(id(value), len(self.tensors))
                if position == len(self.tensors):
                    self.tensors.append(value)
                shape = tuple([self._key_of_size(size) for size in value.shape])
                return ("tensor", position, shape, value.dtype, value.device)
            case tuple() | list():
                return (type(value), *[self._key_of(item) for item in value])
            case dict():
                return (
                    type(value),
                    *[(self._key_of(k), self._key_of(v)) for k, v in value.items()],
                )
            case UOp():
                return self._key_of_node(value)
            case float():
                return (float, value.hex())
            case None | bool() | int() | str() | bytes():
                return (type(value), value)
        if is_array(value) or isinstance(value, set | bytearray | memoryview):
            raise JitError(
                f"a captured function was called with a {type(value).__name__}.",
                why="a replay would not see that its content has changed.",
                fix="pass Tensor(...) of it.",
            )
        self.kept.append(value)
        return (type(value), id(value))

    def _key_of_size(self, size: Size) -> Size:
        """A size without the numbers that its variables are bound to."""
        if isinstance(size, int):
            return size
        binds = [node for node in toposort((size,)) if node.op is Op.BIND]
        return substitute(size, {bind: self._variable_of(bind) for bind in binds})

    def _key_of_node(self, value: UOp) -> Key:
        return (UOp, self._variable_of(value) if value.op is Op.BIND else value)

    def _variable_of(self, value: UOp) -> UOp:
        variable = value.src[0]
        if self.numbers.setdefault(variable, value) is not value:
            raise JitError(
                f"the variable {variable.arg.name!r} has two values in one call.",
                why="a variable stands for one number.",
                fix="use a second variable.",
            )
        return variable

    def with_tensors(
        self, tensors: Sequence[TensorCore]
    ) -> tuple[tuple[object, ...], dict[str, object]]:
        """The same arguments with other tensors in the place of each."""

        def replaced(value: TensorCore | Place) -> object:
            return tensors[self._positions[id(value)]]

        args, kwargs = with_leaves(self.args, replaced), with_leaves(self.kwargs, replaced)
        assert isinstance(args, tuple)
        assert isinstance(kwargs, dict)
        return args, kwargs


def tensors_in(value: object) -> Iterator[TensorCore]:
    """The tensors in nested lists, tuples and dicts."""
    match value:
        case TensorCore():
            yield value
        case tuple() | list():
            for item in value:
                yield from tensors_in(item)
        case dict():
            for item in value.values():
                yield from tensors_in(item)


class Place:
    """Stands for a tensor in nested containers: its number."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


def with_leaves(value: object, leaf: Callable[[TensorCore | Place], object]) -> object:
    """Nested lists, tuples and dicts again, with every tensor or Place replaced by `leaf` of it."""
    match value:
        case TensorCore() | Place():
            return leaf(value)
        case tuple():
            items = [with_leaves(item, leaf) for item in value]
            # A named tuple takes its fields one by one.
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)  # type: ignore[arg-type]
        case list():
            return [with_leaves(item, leaf) for item in value]
        case dict():
            return {key: with_leaves(item, leaf) for key, item in value.items()}
    return value
