"""Special functions agree with mpmath, at their ends too."""

import math

import mpmath
import numpy as np
import pytest

from tiny_ir import ArgumentError
from tiny_tensor import Tensor

POSITIVE = [0.1, 0.5, 1.0, 1.5, 2.0, 3.7, 9.0, 20.0]
ALL = [-4.3, -1.5, -0.2, *POSITIVE]
FUNCTIONS = {
    "erfc": (mpmath.erfc, ALL),
    "erfcx": (lambda x: mpmath.exp(x * x) * mpmath.erfc(x), ALL),
    "erfinv": (mpmath.erfinv, [-0.99, -0.5, 0.0, 0.3, 0.999]),
    "ndtr": (mpmath.ncdf, ALL),
    "lgamma": (lambda x: mpmath.log(abs(mpmath.gamma(x))), ALL),
    "digamma": (mpmath.digamma, ALL),
    "i0": (lambda x: mpmath.besseli(0, x), ALL),
    "i1": (lambda x: mpmath.besseli(1, x), ALL),
    "bessel_j0": (lambda x: mpmath.besselj(0, x), ALL),
    "bessel_j1": (lambda x: mpmath.besselj(1, x), ALL),
    "bessel_y0": (lambda x: mpmath.bessely(0, x), POSITIVE),
    "bessel_y1": (lambda x: mpmath.bessely(1, x), POSITIVE),
    "modified_bessel_k0": (lambda x: mpmath.besselk(0, x), POSITIVE),
    "modified_bessel_k1": (lambda x: mpmath.besselk(1, x), POSITIVE),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_agrees_with_mpmath(name):
    exact, arguments = FUNCTIONS[name]
    expected = [float(exact(mpmath.mpf(float(np.float32(x))))) for x in arguments]
    result = getattr(Tensor(np.array(arguments, np.float32)), name)().numpy()
    np.testing.assert_allclose(result, expected, rtol=4e-6, atol=4e-6)


def test_the_gamma_functions_know_their_poles():
    x = Tensor([0.0, -1.0, math.inf])
    assert x.lgamma().tolist() == [math.inf] * 3
    assert math.isnan(Tensor([-1.0]).digamma().item())
    assert Tensor([0.0]).digamma().item() == -math.inf


def test_the_slope_of_lgamma_is_digamma():
    x = Tensor([0.3, 2.5, -1.4])
    slope = x.lgamma().sum().gradient(x)[0]
    np.testing.assert_allclose(slope.numpy(), x.digamma().numpy(), rtol=1e-5)


def test_nothing_times_a_logarithm_is_nothing():
    assert Tensor([0.0, 0.0]).xlogy(Tensor([0.0, math.inf])).tolist() == [0.0, 0.0]
    assert math.isnan(Tensor([0.0]).xlogy(Tensor([math.nan])).item())


def test_orders_that_there_are_not_are_refused():
    with pytest.raises(ArgumentError):
        Tensor([1.0]).polygamma(-1)
    with pytest.raises(ArgumentError):
        Tensor([1.0]).mvlgamma(0)
