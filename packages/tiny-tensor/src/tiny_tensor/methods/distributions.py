"""Random numbers of further distributions, each made of one draw of the stream an element."""

from __future__ import annotations

import math
from typing import Self

from tiny_ir import ArgumentError, DType, RandomError, dtypes
from tiny_plugin import boundary
from tiny_tensor.methods.random import RandomMethods, Sizes, float_dtype
from tiny_tensor.methods.special import SpecialMethods


@boundary
class DistributionMethods(RandomMethods, SpecialMethods):
    """Numbers are computed in float32 from uniform ones, or in float64 where that is asked for."""

    __slots__ = ()

    def bernoulli(self) -> Self:
        """1 with the probability that an element says, else 0.

        Returns:
            The shape and dtype of this tensor. Probabilities below 0 give 0, above 1 give 1, and
            NaN gives 0.

        Raises:
            RandomError: the elements are no floats.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([0.0, 1.0]).bernoulli().tolist()
            [0.0, 1.0]
        """
        if not self.dtype.is_float:
            raise RandomError(
                f"elements of {self.dtype.name} are no probabilities.",
                why="a probability lies between 0 and 1.",
                fix="cast to a float first.",
            )
        wide = self.cast(dtypes.promote(self.dtype, dtypes.float32))
        return (wide.rand_like() < wide).cast(self.dtype)

    @classmethod
    def exponential(
        cls,
        *shape: Sizes,
        rate: float = 1.0,
        dtype: DType | str | None = None,
        device: str | None = None,
    ) -> Self:
        """Times between events that come at a mean rate.

        Args:
            shape: the sizes.
            rate: events in a unit of time; the mean of the numbers is 1 / rate.
            dtype: a float dtype.
            device: where it lives.

        Raises:
            RandomError: the dtype is not a float.
            ArgumentError: the rate is not above 0.

        Example:
            >>> from tiny_tensor import Tensor
            >>> bool((Tensor.exponential(4) >= 0.0).all().item())
            True
        """
        _check_positive("rate", rate)
        wanted = float_dtype(dtype)
        draws = cls._uniform(shape, wanted, device)
        return ((1.0 - draws).log() * (-1.0 / rate)).cast(wanted)

    @classmethod
    def truncated_normal(
        cls,
        *shape: Sizes,
        mean: float = 0.0,
        std: float = 1.0,
        low: float = -2.0,
        high: float = 2.0,
        dtype: DType | str | None = None,
        device: str | None = None,
    ) -> Self:
        """Normal numbers, of which only those from `low` to `high` are drawn.

        Args:
            shape: the sizes.
            mean: of the normal numbers before some are left out.
            std: their standard deviation.
            low: the least number.
            high: the greatest number.
            dtype: a float dtype.
            device: where it lives.

        Raises:
            RandomError: the dtype is not a float.
            ArgumentError: the deviation is not above 0, or `low` is not below `high`.

        Example:
            >>> from tiny_tensor import Tensor
            >>> x = Tensor.truncated_normal(4, low=1.0, high=1.5)
            >>> bool(((x >= 1.0) & (x <= 1.5)).all().item())
            True

        Source: the inverse of the distribution function of uniform numbers.
        """
        _check_positive("std", std)
        if not low < high:
            raise ArgumentError(
                f"there are no normal numbers from {low} to {high}.",
                why="the lower limit is below the upper one.",
                fix="let them change places.",
            )
        wanted = float_dtype(dtype)
        ends = [math.erf((end - mean) / std * math.sqrt(0.5)) for end in (low, high)]
        parts = cls._uniform(shape, dtypes.float64, device) * (ends[1] - ends[0]) + ends[0]
        return (parts.erfinv() * (std * math.sqrt(2.0)) + mean).clamp(low, high).cast(wanted)

    @classmethod
    def log_normal(
        cls,
        *shape: Sizes,
        mean: float = 1.0,
        std: float = 2.0,
        dtype: DType | str | None = None,
        device: str | None = None,
    ) -> Self:
        """Numbers whose logarithms are normal.

        Args:
            shape: the sizes.
            mean: of the logarithms.
            std: the standard deviation of the logarithms.
            dtype: a float dtype.
            device: where it lives.

        Raises:
            RandomError: the dtype is not a float.
            ArgumentError: the deviation is not above 0.
        """
        _check_positive("std", std)
        wanted = float_dtype(dtype)
        return (
            cls.normal(*shape, mean=mean, std=std, dtype=_wide(wanted), device=device)
            .exp()
            .cast(wanted)
        )

    @classmethod
    def cauchy(
        cls,
        *shape: Sizes,
        median: float = 0.0,
        sigma: float = 1.0,
        dtype: DType | str | None = None,
        device: str | None = None,
    ) -> Self:
        """Where rays at even angles from a point meet a line.

        Args:
            shape: the sizes.
            median: the foot of the point.
            sigma: its distance.
            dtype: a float dtype.
            device: where it lives.

        Raises:
            RandomError: the dtype is not a float.
            ArgumentError: the distance is not above 0.
        """
        _check_positive("sigma", sigma)
        wanted = float_dtype(dtype)
        angles = (cls._uniform(shape, wanted, device) - 0.5) * math.pi
        return (angles.tan() * sigma + median).cast(wanted)

    @classmethod
    def geometric(
        cls,
        *shape: Sizes,
        p: float,
        dtype: DType | str | None = None,
        device: str | None = None,
    ) -> Self:
        """How many trials it takes to succeed, from 1 up.

        Args:
            shape: the sizes.
            p: the probability to succeed.
            dtype: a dtype of floats or integers.
            device: where it lives.

        Raises:
            ArgumentError: `p` is not between 0 and 1.

        Example:
            >>> from tiny_tensor import Tensor
            >>> bool((Tensor.geometric(4, p=0.5) >= 1.0).all().item())
            True
        """
        if not 0.0 < p < 1.0:
            raise ArgumentError(
                f"a probability to succeed cannot be {p}.",
                why="trials would end at once, or never.",
                fix="choose a number between 0 and 1.",
            )
        draws = cls._uniform(shape, dtypes.float32, device)
        trials = ((1.0 - draws).log() * (1.0 / math.log1p(-p))).ceil().maximum(1.0)
        return trials.cast(float_dtype(None) if dtype is None else dtype)

    @classmethod
    def _uniform(cls, shape: tuple[Sizes, ...], dtype: DType | str, device: str | None) -> Self:
        """Uniform numbers of at least float32."""
        return cls.rand(*shape, dtype=_wide(float_dtype(dtype)), device=device)


def _wide(dtype: DType) -> DType:
    return dtypes.promote(dtype, dtypes.float32)


def _check_positive(name: str, value: float) -> None:
    if not value > 0:
        raise ArgumentError(
            f"{name} cannot be {value}.",
            why="the numbers would all be one, or none.",
            fix="choose a number above 0.",
        )
