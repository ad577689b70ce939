"""How far floats are from exact values, in units of their last place, and which floats to try."""

from __future__ import annotations

import numpy as np

from tiny_ir import DType
from tiny_testing.arrays import NUMPY_DTYPES, Array


def ulps(results: Array, exact: Array, dtype: DType) -> Array:
    """Return how many units of the last place each result is away from the exact value.

    Args:
        results: what was computed, in any dtype that holds it.
        exact: the exact values, or near them: float64 for narrower results, longdouble for float64.
        dtype: whose last place is the unit; below its smallest normal number, that of denormals.

    Returns:
        float64. 0 where an exactly rounded result would be equal, infinite where one is NaN or
        infinite and the other is not, and where zeros differ in sign.

    Example:
        >>> from tiny_ir import dtypes
        >>> one = np.float32(1)
        >>> above = np.nextafter(one, np.float32(2))
        >>> ulps(np.array([one, above]), np.array([1.0, 1.0]), dtypes.float32).tolist()
        [0.0, 1.0]
    """
    exact = np.asarray(exact)
    with np.errstate(all="ignore"):
        exponent = np.floor(np.log2(np.abs(exact)))
        lowest = 1 - dtype.bias
        exponent = np.maximum(np.where(np.isfinite(exponent), exponent, lowest), lowest)
        unit = np.exp2(exponent - dtype.mantissa_bits)
        error = np.abs(results.astype(exact.dtype) - exact) / unit
        too_large = np.abs(exact) >= float(dtype.largest) * (1 + float(dtype.epsilon) / 4)
    same_nan = np.isnan(results) & np.isnan(exact)
    same_infinity = np.isinf(results) & too_large & (np.signbit(results) == np.signbit(exact))
    wrong_sign = (results == 0) & (np.signbit(results) != np.signbit(exact)) & ~np.isnan(exact)
    error = np.where(same_nan | same_infinity, 0.0, error)
    error = np.where(np.isnan(error) | wrong_sign, np.inf, error)
    return np.asarray(error, np.float64)


def floats_of_every_size(dtype: DType, count: int, seed: int = 0) -> Array:
    """Return random floats, as many of each exponent and sign, denormals included; none is NaN.

    Args:
        dtype: float16, float32 or float64.
        count: how many.
        seed: which ones.

    Example:
        >>> from tiny_ir import dtypes
        >>> bool(np.isfinite(floats_of_every_size(dtypes.float32, 100)).all())
        True
    """
    random = np.random.default_rng(seed)
    exponents = random.integers(0, (1 << dtype.exponent_bits) - 1, count, dtype=np.uint64)
    fractions = random.integers(0, 1 << dtype.mantissa_bits, count, dtype=np.uint64)
    signs = random.integers(0, 2, count, dtype=np.uint64)
    codes = (signs << (dtype.bits - 1)) | (exponents << dtype.mantissa_bits) | fractions
    word = np.dtype(f"uint{dtype.bits}")
    return codes.astype(word).view(NUMPY_DTYPES[dtype])


def special_floats(dtype: DType) -> Array:
    """Return zeros, infinities, NaN, the smallest, the largest and others that break things."""
    largest, normal, smallest = float(dtype.largest), dtype.smallest_normal, dtype.smallest
    sizes = [0.0, np.inf, largest, largest / 2, normal, normal / 2, float(smallest), 1.0, 2.0, 0.5]
    near_one = [1.0 - dtype.epsilon / 2, 1.0 + dtype.epsilon, 1.5, 3.0, np.pi, np.e, 0.1, 1e-4]
    limits = [87.0, 88.7, 88.73, 103.9, 104.1, 127.9, 128.0, 149.0, 150.1, 709.7, 709.8, 745.2]
    values = np.array([*sizes, *near_one, *limits])
    with np.errstate(over="ignore"):
        return np.concatenate([values, -values, [np.nan]]).astype(NUMPY_DTYPES[dtype])
