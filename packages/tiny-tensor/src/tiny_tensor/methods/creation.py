"""Tensors made of nothing: constants and counting numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self, TypeAlias

from tiny_ir import (
    ArgumentError,
    ArgumentTypeError,
    DType,
    Op,
    Shape,
    ShapeError,
    UOp,
    bounds,
    const,
    dtypes,
    make,
)
from tiny_plugin import boundary
from tiny_tensor.arrays import (
    check_range,
    dtype_of_values,
    int_dtype,
    nested_values,
    number_of,
)
from tiny_tensor.broadcast import broadcast
from tiny_tensor.methods.movement import sizes_of
from tiny_tensor.session import current_session
from tiny_tensor.tensor_core import Scalar, TensorCore, concrete_dtype

Sizes: TypeAlias = int | UOp | Sequence[int | UOp]
"""One size, or all of them."""
Constant: TypeAlias = Scalar | tuple[object, ...]
"""A number, or nested tuples of them."""


@boundary
class CreationMethods(TensorCore):
    """Constructors."""

    __slots__ = ()

    @classmethod
    def full(
        cls,
        shape: Sizes,
        fill_value: Scalar | UOp,
        dtype: DType | str | None = None,
        device: str | None = None,
        buffer: bool = True,
    ) -> Self:
        """One value everywhere. It takes no memory until something writes it or needs it.

        Args:
            shape: the sizes.
            fill_value: a Python number, or a size that is known at launch.
            dtype: by default that of the number.
            device: where it lives.
            buffer: accepted for programs of tinygrad; a constant takes no memory either way.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor.full((2, 2), 7).tolist()
            [[7, 7], [7, 7]]
        """
        if isinstance(fill_value, UOp):
            node = symbolic(fill_value)
            node = node if dtype is None else node.cast(concrete_dtype(dtype))
        else:
            node = constant(fill_value, dtype)
        sizes = checked_shape((shape,))
        return cls._from_nothing(broadcast(node, sizes), current_session().device_name(device))

    @classmethod
    def const(cls, value: Constant, dtype: DType | str | None = None) -> Self:
        """A number, or a tuple of constants, that is part of the program and in no memory.

        Args:
            value: a Python number, or nested tuples of them, few enough to write down.
            dtype: by default that of the numbers.

        Raises:
            ShapeError: tuples of one level differ in length.
            ArgumentError: a number does not fit the dtype.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor.const(((1, 2), (3, 4))).tolist(), Tensor.const(0.5).shape
            ([[1, 2], [3, 4]], ())
        """
        session = current_session()
        if not isinstance(value, tuple):
            return cls._from_nothing(constant(value, dtype), session.default_device)
        numbers, shape = nested_values(value)
        kept = dtype_of_values(numbers, session.default_float) if dtype is None else dtype
        constants = [constant(number, kept) for number in numbers]
        position = make(Op.IOTA, dtypes.weakint, (), max(1, len(constants)))
        chosen = constants[-1] if constants else constant(0, kept)
        for at, number in enumerate(constants[:-1]):
            chosen = position.eq(at).where(number, chosen)
        flat = broadcast(chosen, (max(1, len(constants)),)).shrink([(0, len(constants))])
        return cls._from_nothing(flat.reshape(shape), session.default_device)

    @classmethod
    def zeros(
        cls,
        *shape: Sizes,
        dtype: DType | str | None = None,
        device: str | None = None,
    ) -> Self:
        """Zeros; float by default.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor.zeros(2, 3).shape
            (2, 3)
        """
        return cls.full(checked_shape(shape), 0.0 if dtype is None else 0, dtype, device)

    @classmethod
    def ones(
        cls,
        *shape: Sizes,
        dtype: DType | str | None = None,
        device: str | None = None,
    ) -> Self:
        """Ones; float by default.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor.ones(3, dtype="int32").tolist()
            [1, 1, 1]
        """
        return cls.full(checked_shape(shape), 1.0 if dtype is None else 1, dtype, device)

    @classmethod
    def empty(
        cls,
        *shape: Sizes,
        dtype: DType | str | None = None,
        device: str | None = None,
    ) -> Self:
        """Memory with arbitrary content, to be written; float by default.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor.empty(2, 2).shape
            (2, 2)
        """
        session = current_session()
        sizes = checked_shape(shape)
        place = session.device_name(device)
        kept = session.default_float if dtype is None else concrete_dtype(dtype)
        like = broadcast(const(kept, 0), sizes)
        buffer, node = session.new_place(like, place)
        session.unwritten.add(buffer)
        return cls._from_uop(node, place)

    @classmethod
    def invalids(
        cls,
        *shape: Sizes,
        dtype: DType | str | None = None,
        device: str | None = None,
    ) -> Self:
        """Another name of `empty`: memory for a kernel to write (see `custom_kernel`)."""
        return cls.empty(*shape, dtype=dtype, device=device)

    @classmethod
    def arange(
        cls,
        start: int | float,
        stop: int | float | None = None,
        step: int | float = 1,
        dtype: DType | str | None = None,
        device: str | None = None,
    ) -> Self:
        """Counting numbers from `start` up to, and without, `stop`.

        Args:
            start: the first number; with one argument it is the stop, and the first is 0.
            stop: where to end.
            step: the difference of neighbours; negative counts down.
            dtype: int32 (int64 where the numbers are large), or the default float where one of the
                arguments is a float.
            device: where it lives.

        Returns:
            (n,), with n = ceil((stop - start) / step), computed where it is read.

        Raises:
            ArgumentError: the step is 0, or the numbers do not fit the dtype.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor.arange(2, 8, 3).tolist()
            [2, 5]
        """
        if stop is None:
            start, stop = 0, start
        for value in (start, stop, step):
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ArgumentTypeError(
                    f"arange cannot count with {value!r}.",
                    why="start, stop and step are Python numbers.",
                    fix="pass numbers; item() makes one of a Tensor.",
                )
        if step == 0 or not all(map(math.isfinite, (start, stop, step))):
            raise ArgumentError(
                f"cannot count from {start} to {stop} in steps of {step}.",
                why="the step is not 0, and all three are finite.",
                fix="choose another step.",
            )
        count = max(0, math.ceil((stop - start) / step))
        last = start + step * max(count - 1, 0)
        wanted = _arange_dtype(start, stop, step, last) if dtype is None else concrete_dtype(dtype)
        if (
            wanted.is_int
            and not wanted.minimum <= min(start, last) <= max(start, last) <= wanted.maximum
        ):
            raise ArgumentError(
                f"numbers from {start} to {last} do not fit {wanted.name}.",
                why=f"{wanted.name} holds {wanted.minimum} to {wanted.maximum}.",
                fix="choose a wider dtype.",
            )
        index = make(Op.IOTA, dtypes.weakint, (), count)
        whole = isinstance(start, int) and isinstance(step, int)
        if whole:
            node = (index * step + start).cast(wanted)
        else:
            kept = wanted if wanted.is_float and wanted.nbytes >= 4 else dtypes.float32
            scaled = index.cast(kept) * const(kept, step) + const(kept, start)
            node = scaled.cast(wanted)
        return cls._from_nothing(node, current_session().device_name(device))


def _arange_dtype(start: float, stop: float, step: float, last: float) -> DType:
    whole = all(isinstance(value, int) for value in (start, stop, step))
    if whole and isinstance(last, int):
        return int_dtype(min(start, last), max(start, last))
    return current_session().default_float


def symbolic(node: UOp) -> UOp:
    """A size or another index expression as one element, in a dtype that holds it."""
    if not node.dtype.is_weak:
        return node
    low, high = bounds(node)
    is_narrow = dtypes.int32.minimum <= low and high <= dtypes.int32.maximum
    return node.cast(dtypes.int32 if is_narrow else dtypes.int64)


def constant(value: Scalar, dtype: DType | str | None) -> UOp:
    """A Python number as a node of shape ().

    Raises:
        OutOfRangeError: an integer does not fit the dtype.
    """
    number = number_of(value)
    if number is None:
        raise ArgumentTypeError(
            f"{value!r} is not a number.",
            why="a constant is a Python bool, int or float.",
            fix="pass a number.",
        )
    value = number
    if dtype is None:
        wanted = dtype_of_values([value], current_session().default_float)
    else:
        wanted = concrete_dtype(dtype)
        check_range(value, wanted)
    if isinstance(value, float) and wanted.is_int:
        return const(dtypes.float64, value).cast(wanted)
    return const(wanted, value)


def checked_shape(shape: Sequence[int | UOp | Sequence[int | UOp]]) -> Shape:
    """Sizes of a new tensor, given one by one or as one sequence.

    Raises:
        ShapeError: a size is negative.
        ArgumentTypeError: a size is not an integer.
    """
    sizes = sizes_of(shape)
    for size in sizes:
        if size is None or (isinstance(size, int) and size < 0):
            raise ShapeError(
                f"a tensor cannot have shape {sizes}.",
                why="every size is 0 or more.",
                fix="write the sizes out.",
            )
    return sizes  # type: ignore[return-value]  # None was refused
