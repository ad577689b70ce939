"""Random tensors: each element is one draw of the Session's stream, wherever it is computed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Self

from tiny_ir import (
    ArgumentError,
    ArgumentTypeError,
    DType,
    Op,
    RandomError,
    ShapeError,
    UOp,
    const,
    dtypes,
    make,
)
from tiny_plugin import boundary
from tiny_tensor.choices import check_order
from tiny_tensor.methods.creation import checked_shape
from tiny_tensor.methods.recurrences import RecurrenceMethods
from tiny_tensor.methods.sorting import SortingMethods
from tiny_tensor.session import current_session
from tiny_tensor.tensor_core import concrete_dtype

Sizes = int | Sequence[int]


@boundary
class RandomMethods(SortingMethods, RecurrenceMethods):
    """Random constructors. Each takes one draw an element; nothing else moves the stream."""

    __slots__ = ()

    @staticmethod
    def manual_seed(seed: int = 0) -> None:
        """Start the stream of `seed` from its first draw.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor.manual_seed(42)
            >>> a = Tensor.rand(3)
            >>> Tensor.manual_seed(42)
            >>> (Tensor.rand(3) == a).tolist()
            [True, True, True]
        """
        current_session().random.seed(seed)

    @classmethod
    def _draw(
        cls, shape: Sequence[Sizes], device: str | None, make_values: Callable[[UOp], UOp]
    ) -> Self:
        """A tensor whose elements `make_values` computes from 64 random bits each."""
        sizes = _concrete(shape)
        place = current_session().device_name(device)
        values = make_values(random_bits(math.prod(sizes)))
        return cls._from_uop(values.reshape(sizes), place)

    @classmethod
    def rand(
        cls,
        *shape: Sizes,
        dtype: DType | str | None = None,
        device: str | None = None,
        contiguous: bool = True,
    ) -> Self:
        """Uniform numbers from 0 up to, and without, 1.

        Args:
            shape: the sizes.
            dtype: a float dtype; every multiple of its epsilon / 2 below 1 is as likely.
            device: where it lives; the numbers are the same everywhere.
            contiguous: accepted for programs of tinygrad: element n is draw n, however it is read.

        Raises:
            RandomError: the dtype is not a float.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor.rand(2, 3).shape
            (2, 3)
        """
        wanted = float_dtype(dtype)
        return cls._draw(shape, device, lambda bits: unit_interval(bits, wanted).cast(wanted))

    @classmethod
    def randn(
        cls, *shape: Sizes, dtype: DType | str | None = None, device: str | None = None
    ) -> Self:
        """Normal numbers with mean 0 and variance 1, computed in float32.

        Raises:
            RandomError: the dtype is not a float.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor.randn(4, dtype="float16").dtype
            dtypes.float16
        """
        wanted = float_dtype(dtype)
        return cls._draw(shape, device, lambda bits: _normal(bits).cast(wanted))

    @classmethod
    def randint(
        cls,
        *shape: Sizes,
        low: int = 0,
        high: int = 10,
        dtype: DType | str = dtypes.int32,
        device: str | None = None,
    ) -> Self:
        """Integers from `low` up to, and without, `high`.

        Raises:
            ArgumentTypeError: a bound is not an int, or the dtype is not one of integers.
            ArgumentError: there is no integer in between, or the bounds do not fit the dtype.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor.randint(3, low=5, high=6).tolist()
            [5, 5, 5]
        """
        wanted = concrete_dtype(dtype)
        if not wanted.is_int or not _are_ints(low, high):
            raise ArgumentTypeError(
                f"randint cannot give {wanted.name} from {low!r} to {high!r}.",
                why="the bounds are Python ints, and the dtype is one of integers.",
                fix="use uniform() for floats.",
            )
        if not wanted.minimum <= low < high <= wanted.maximum + 1:
            raise ArgumentError(
                f"randint finds no {wanted.name} from {low} up to, and without, {high}.",
                why=f"low is less than high, and {wanted.name} holds {wanted.minimum} to "
                f"{wanted.maximum}.",
                fix="choose other bounds or a wider dtype.",
            )
        return cls._draw(shape, device, lambda bits: _integers(bits, low, high).cast(wanted))

    @classmethod
    def uniform(
        cls,
        *shape: Sizes,
        low: float = 0.0,
        high: float = 1.0,
        dtype: DType | str | None = None,
        device: str | None = None,
    ) -> Self:
        """Uniform numbers from `low` up to `high`; truncated for a dtype of integers.

        Raises:
            ArgumentError: `low` is greater than `high`.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor.uniform(2, low=3.0, high=3.0).tolist()
            [3.0, 3.0]
        """
        check_order("uniform", low, high)
        wanted = current_session().default_float if dtype is None else concrete_dtype(dtype)

        def scaled(bits: UOp) -> UOp:
            kept = wanted if wanted.is_float and wanted.nbytes >= 4 else dtypes.float32
            unit = unit_interval(bits, kept)
            return (unit * const(kept, high - low) + const(kept, low)).cast(wanted)

        return cls._draw(shape, device, scaled)

    @classmethod
    def normal(
        cls,
        *shape: Sizes,
        mean: float = 0.0,
        std: float = 1.0,
        dtype: DType | str | None = None,
        device: str | None = None,
    ) -> Self:
        """Normal numbers with the given mean and standard deviation.

        Raises:
            RandomError: the dtype is not a float.
            ArgumentError: the deviation is negative.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor.normal(2, mean=5.0, std=0.0).tolist()
            [5.0, 5.0]
        """
        wanted = float_dtype(dtype)
        if not std >= 0:
            raise ArgumentError(
                f"normal numbers cannot have the standard deviation {std}.",
                why="it is the root of a mean of squares.",
                fix="choose a number from 0 up.",
            )
        return cls._draw(
            shape,
            device,
            lambda bits: (
                _normal(bits) * const(dtypes.float32, std) + const(dtypes.float32, mean)
            ).cast(wanted),
        )

    @classmethod
    def scaled_uniform(
        cls, *shape: Sizes, dtype: DType | str | None = None, device: str | None = None
    ) -> Self:
        """Uniform numbers from -1 to 1, divided by the square root of their count."""
        bound = 1 / math.sqrt(max(1, math.prod(_concrete(shape))))
        return cls.uniform(*shape, low=-bound, high=bound, dtype=dtype, device=device)

    @classmethod
    def glorot_uniform(
        cls, *shape: Sizes, dtype: DType | str | None = None, device: str | None = None
    ) -> Self:
        """Uniform numbers for weights (fan_in, ...): bounded by sqrt(6 / (fan_in + fan_out)).

        Source: X. Glorot, Y. Bengio, "Understanding the difficulty of training deep feedforward
        neural networks", 2010.
        """
        sizes = _weights(shape)
        bound = math.sqrt(6 / max(1, sizes[0] + math.prod(sizes[1:])))
        return cls.uniform(*shape, low=-bound, high=bound, dtype=dtype, device=device)

    @classmethod
    def kaiming_uniform(
        cls,
        *shape: Sizes,
        a: float = 0.01,
        dtype: DType | str | None = None,
        device: str | None = None,
    ) -> Self:
        """Uniform numbers for weights (out, ...) before a leaky ReLU of slope `a`.

        Source: K. He et al., "Delving deep into rectifiers", 2015.
        """
        bound = math.sqrt(3.0) * _kaiming_gain(shape, a)
        return cls.uniform(*shape, low=-bound, high=bound, dtype=dtype, device=device)

    @classmethod
    def kaiming_normal(
        cls,
        *shape: Sizes,
        a: float = 0.01,
        dtype: DType | str | None = None,
        device: str | None = None,
    ) -> Self:
        """Normal numbers for weights (out, ...) before a leaky ReLU of slope `a`.

        Source: K. He et al., "Delving deep into rectifiers", 2015.
        """
        return cls.normal(*shape, std=_kaiming_gain(shape, a), dtype=dtype, device=device)

    @classmethod
    def randperm(cls, n: int, dtype: DType | str = dtypes.int32, device: str | None = None) -> Self:
        """The numbers from 0 up to, and without, `n` in random order.

        Args:
            n: how many.
            dtype: an integer dtype that holds n - 1.
            device: where it lives; the order is the same everywhere.

        Raises:
            ArgumentError: n is negative, or does not fit the dtype.

        Example:
            >>> from tiny_tensor import Tensor
            >>> sorted(Tensor.randperm(4).tolist())
            [0, 1, 2, 3]
        """
        wanted = concrete_dtype(dtype)
        if not _are_ints(n) or not 0 <= n <= wanted.maximum + 1:
            raise ArgumentError(
                f"there is no permutation of {n!r} numbers in {wanted.name}.",
                why=f"n is an int from 0 whose predecessor is at most {wanted.maximum}.",
                fix="choose another n or a wider dtype.",
            )
        return cls._draw((n,), device, lambda bits: bits).argsort().cast(wanted)

    def multinomial(self, num_samples: int = 1, replacement: bool = False) -> Self:
        """Draw positions with probabilities in proportion to weights.

        Args:
            num_samples: how many positions.
            replacement: whether a position may be drawn again.

        Returns:
            (num_samples,) or (rows, num_samples) positions in int32, for weights (n,) or (rows, n).
            A negative weight counts as 0.

        Raises:
            ShapeError: the weights have not one or two axes.
            ArgumentError: there are fewer than `num_samples` positions to draw from.

        Source: P. Efraimidis, P. Spirakis, "Weighted random sampling with a reservoir", 2006, for
        draws without replacement.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([0.0, 3.0, 0.0]).multinomial().tolist()
            [1]
        """
        if self.ndim not in (1, 2) or not isinstance(self.shape[-1], int):
            raise ShapeError(
                f"cannot draw from weights of shape {self.shape}.",
                why="weights have one axis, or rows of one axis.",
                fix="reshape them first.",
            )
        count = self.shape[-1]
        if not _are_ints(num_samples) or not 1 <= num_samples or count < 1:
            raise ArgumentError(
                f"cannot draw {num_samples!r} of {count} positions.",
                why="at least one position is drawn, from at least one.",
                fix="choose another number.",
            )
        if not replacement and num_samples > count:
            raise ArgumentError(
                f"cannot draw {num_samples} different positions of {count}.",
                why="without replacement each is drawn once.",
                fix="draw fewer, or pass replacement=True.",
            )
        weights = self.cast(dtypes.float32).maximum(0)
        if replacement:
            return weights._drawn_again(num_samples)
        uniform = self.rand(self.shape, device=self.device)  # type: ignore[arg-type]
        # The smallest of exponential times come first; a weight of 0 never comes.
        return (-((1 - uniform).log() / weights)).argsort()[..., :num_samples]

    def _drawn_again(self, num_samples: int) -> Self:
        """Positions where the running sum of weights first exceeds uniform numbers."""
        sums = self.cumsum(-1)
        # A little less than the sum, so that no rounding reaches beyond the last weight.
        total = sums[..., -1:] * (1 - 2.0**-22)
        draws = self.rand((*self.shape[:-1], num_samples), device=self.device)  # type: ignore[arg-type]
        passed = sums.reshape(*sums.shape[:-1], 1, sums.shape[-1]) <= (draws * total).reshape(
            *draws.shape, 1
        )
        return passed.sum(-1, dtype=dtypes.int32)

    def rand_like(self, dtype: DType | str | None = None) -> Self:
        """Uniform numbers in the shape and on the device of this tensor."""
        return self.rand(self.shape, dtype=dtype or self.dtype, device=self.device)  # type: ignore[arg-type]

    def randn_like(self, dtype: DType | str | None = None) -> Self:
        """Normal numbers in the shape and on the device of this tensor."""
        return self.randn(self.shape, dtype=dtype or self.dtype, device=self.device)  # type: ignore[arg-type]


def random_bits(count: int) -> UOp:
    """The next `count` draws of the Session's stream: uint64, shape (count,).

    Key and position are bound variables: their values enter no key of a graph.
    """
    session = current_session()
    position, key = session.draw(count)
    numbers = make(Op.IOTA, dtypes.weakint, (), count).cast(dtypes.uint64)
    return make(
        Op.THREEFRY, None, (numbers + position.cast(dtypes.uint64), key.cast(dtypes.uint64))
    )


def unit_interval(bits: UOp, dtype: DType) -> UOp:
    """64 random bits as a number from 0 up to 1, in float32, or float64 where `dtype` is.

    The highest bits are taken, as many as a number below 1 has digits, so that rounding to `dtype`
    never gives 1.
    """
    digits = dtype.mantissa_bits + 1
    kept = dtypes.float64 if dtype is dtypes.float64 else dtypes.float32
    whole = bits >> const(dtypes.uint64, 64 - digits)
    if kept is dtypes.float32:
        whole = whole.cast(dtypes.uint32)
    return whole.cast(kept) * const(kept, math.ldexp(1.0, -digits))


def _normal(bits: UOp) -> UOp:
    """64 random bits as a normal number in float32.

    Source: G. Box, M. Muller, "A note on the generation of random normal deviates", 1958.
    """
    single, word = dtypes.float32, dtypes.uint32
    high = (bits >> const(dtypes.uint64, 32)).cast(word).cast(single)
    low = (bits.cast(word) >> const(word, 8)).cast(single)
    # From just above 0 to 1: the logarithm is finite.
    radius = (high + const(single, 0.5)) * const(single, 2.0**-32)
    length = (radius.alu(Op.LOG) * const(single, -2.0)).alu(Op.SQRT)
    return length * (low * const(single, 2 * math.pi * 2.0**-24)).alu(Op.COS)


def _integers(bits: UOp, low: int, high: int) -> UOp:
    """64 random bits as an integer: uint64 that wraps, so that any narrower cast is right."""
    span = high - low
    wide = dtypes.uint64
    if span <= 1 << 32:
        # The upper half of a product: as even as 2**32 parts can be divided.
        scaled = (bits >> const(wide, 32)) * const(wide, span) >> const(wide, 32)
    else:
        scaled = bits % const(wide, span) if span < 1 << 64 else bits
    return scaled + const(wide, low)


def float_dtype(dtype: DType | str | None) -> DType:
    """The float dtype that was asked for; the default float where none was.

    Raises:
        RandomError: it is not a float.
    """
    wanted = current_session().default_float if dtype is None else concrete_dtype(dtype)
    if not wanted.is_float:
        raise RandomError(
            f"there are no random numbers in {wanted.name}.",
            why="they lie between the integers.",
            fix="choose a float dtype, or use randint().",
        )
    return wanted


def _are_ints(*values: object) -> bool:
    return all(isinstance(value, int) and not isinstance(value, bool) for value in values)


def _concrete(shape: Sequence[Sizes]) -> tuple[int, ...]:
    sizes = checked_shape(shape)
    if not all(isinstance(size, int) for size in sizes):
        raise RandomError(
            f"there are no random tensors of shape {sizes}.",
            why="how many draws a tensor takes must be known when it is made.",
            fix="draw the largest shape and take a part of it.",
        )
    return sizes  # type: ignore[return-value]  # checked just above


def _weights(shape: Sequence[Sizes]) -> tuple[int, ...]:
    sizes = _concrete(shape)
    if not sizes:
        raise RandomError(
            "weights have at least one axis.",
            why="the bound follows from their sizes.",
            fix="pass the sizes of the weights.",
        )
    return sizes


def _kaiming_gain(shape: Sequence[Sizes], a: float) -> float:
    fan_in = max(1, math.prod(_weights(shape)[1:]))
    return math.sqrt(2.0 / (1 + a * a)) / math.sqrt(fan_in)
