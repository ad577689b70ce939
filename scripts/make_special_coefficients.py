"""Fit the Chebyshev series of the special functions, and write `special_coefficients.py`.

Each series is fitted at the points of Chebyshev with 40 digits, and cut where its terms are below
1e-17 of the largest. Run it with mpmath installed: `python scripts/make_special_coefficients.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import mpmath as mp

TARGET = "packages/tiny-tensor/src/tiny_tensor/methods/special_coefficients.py"
HEAD = '''"""Coefficients of Chebyshev series of special functions.

Made by `scripts/make_special_coefficients.py` with mpmath; never edited by hand.
"""
'''
NEAR_NOTHING = mp.mpf(10) ** -12
LAST = mp.mpf(10) ** -17
mp.mp.dps = 40

Function = Callable[[mp.mpf], mp.mpf]


def series(function: Function, low: float, high: float, terms: int) -> list[mp.mpf]:
    """Return the coefficients of a function between two numbers, those that count."""
    low, high = mp.mpf(low), mp.mpf(high)
    count = 2 * terms
    angles = [mp.pi * (k + mp.mpf(1) / 2) / count for k in range(count)]
    values = [function((high - low) / 2 * mp.cos(a) + (low + high) / 2) for a in angles]
    found = [
        2 / mp.mpf(count) * sum(v * mp.cos(j * a) for v, a in zip(values, angles, strict=True))
        for j in range(terms)
    ]
    largest = max(abs(coefficient) for coefficient in found)
    while abs(found[-1]) < largest * LAST:
        found.pop()
    return [found[0] / 2, *found[1:]]


def tail(order: int, sign: int, unit: float, u: mp.mpf) -> mp.mpf:
    """A modified Bessel function of unit/u, its exponential and root divided out."""
    x = unit / u
    if x > 2000:
        ahead = 1 / mp.sqrt(2 * mp.pi) if sign > 0 else mp.sqrt(mp.pi / 2)
        return ahead * mp.hyp2f0(0.5 - order, 0.5 + order, sign / (2 * x))
    bessel = mp.besseli(order, x) if sign > 0 else mp.besselk(order, x)
    return mp.sqrt(x) * mp.exp(-sign * x) * bessel


def wave(order: int, z: mp.mpf) -> mp.mpc:
    """The Hankel function at 8/sqrt(z), its wave divided out."""
    x = 8 / mp.sqrt(max(z, mp.mpf(10) ** -5))
    turn = mp.exp(-1j * (x - mp.pi / 4 - order * mp.pi / 2))
    return (mp.besselj(order, x) + 1j * mp.bessely(order, x)) * turn * mp.sqrt(mp.pi * x / 2)


def across(z: mp.mpf) -> mp.mpf:
    return 8 / mp.sqrt(max(z, mp.mpf(10) ** -5))


def k0_rest(s: mp.mpf) -> mp.mpf:
    x = mp.sqrt(s)
    return mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x)


def k1_rest(s: mp.mpf) -> mp.mpf:
    x = mp.sqrt(s)
    return (mp.besselk(1, x) - mp.log(x / 2) * mp.besseli(1, x)) * x


def y0_rest(s: mp.mpf) -> mp.mpf:
    x = mp.sqrt(s)
    return mp.bessely(0, x) - 2 / mp.pi * mp.log(x) * mp.besselj(0, x)


def y1_rest(s: mp.mpf) -> mp.mpf:
    x = mp.sqrt(s)
    return (mp.bessely(1, x) - 2 / mp.pi * (mp.log(x) * mp.besselj(1, x) - 1 / x)) / x


def erfcx_part(t: mp.mpf) -> mp.mpf:
    x = 2 / t - 2
    return mp.erfc(x) * mp.exp(x * x) / t


SERIES: dict[str, tuple[Function, float, float]] = {
    "ERFCX": (erfcx_part, NEAR_NOTHING, 1),
    "I0_SMALL": (lambda y: mp.exp(-y) * mp.besseli(0, y), 0, 8),
    "I0_LARGE": (lambda u: tail(0, 1, 8, u), 0, 1),
    "I1_SMALL": (lambda y: mp.exp(-y) * mp.besseli(1, y) / y, 0, 8),
    "I1_LARGE": (lambda u: tail(1, 1, 8, u), 0, 1),
    "K0_SMALL": (k0_rest, 0, 4),
    "K1_SMALL": (k1_rest, 0, 4),
    "K0_LARGE": (lambda u: tail(0, -1, 2, u), 0, 1),
    "K1_LARGE": (lambda u: tail(1, -1, 2, u), 0, 1),
    "J0_SMALL": (lambda s: mp.besselj(0, mp.sqrt(s)), 0, 64),
    "J1_SMALL": (lambda s: mp.besselj(1, mp.sqrt(s)) / mp.sqrt(s), 0, 64),
    "Y0_SMALL": (y0_rest, 0, 64),
    "Y1_SMALL": (y1_rest, 0, 64),
    "P0": (lambda z: wave(0, z).real, 0, 1),
    "Q0": (lambda z: wave(0, z).imag * across(z), 0, 1),
    "P1": (lambda z: wave(1, z).real, 0, 1),
    "Q1": (lambda z: wave(1, z).imag * across(z), 0, 1),
}


def main() -> None:
    """Write the module."""
    text = HEAD
    for name, (function, low, high) in SERIES.items():
        lines = [f"    {mp.nstr(c, 17)},\n" for c in series(function, low, high, 45)]
        text += f"\n{name} = (\n{''.join(lines)})\n"
    (Path(__file__).parents[1] / TARGET).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
