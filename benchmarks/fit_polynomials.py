"""Fit the polynomials of the function decompositions and write them down as a module.

    python benchmarks/fit_polynomials.py [NAME ...]     all, or those named, and their errors

Each polynomial is fitted in 60 digits by weighted least squares, whose weights are multiplied by
the errors they leave (Lawson's algorithm), so that the largest error becomes nearly the least.
Then the coefficients are rounded one after the other, lowest power first, and the rest is fitted
again to what rounding left. Needs mpmath; runs for some minutes.

Source:
    C. L. Lawson, "Contributions to the theory of linear least maximum approximation", 1961.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mpmath import mp, mpf

from tiny_ir import DType, dtypes
from tiny_ir.floats import round_to

MODULE = Path(__file__).parents[1] / (
    "packages/tiny-codegen/src/tiny_codegen/program/math/coefficients.py"
)
DIGITS = 60
STEPS = 12  # rounds of Lawson's algorithm
NODES_PER_COEFFICIENT = 8

mp.dps = DIGITS
Function = Callable[[mpf], mpf]


@dataclass(frozen=True, slots=True)
class Fit:
    """What is approximated.

    Args:
        sentence: what the polynomial is, for the module that is written.
        function: the function.
        size: by what to multiply an error of the polynomial for a relative error of the result.
        low, high: the interval.
        degrees: of the polynomial for float32 and for float64; None where none is needed.
    """

    sentence: str
    function: Function
    size: Function
    low: float
    high: float
    degrees: tuple[int | None, int | None]


def tail(function: Function, *first: mpf | int) -> Function:
    """(function(x) - first[0] - first[1] x - ...) / x**len(first), also at and near zero."""
    power = len(first)
    series = None

    def quotient(x: mpf) -> mpf:
        nonlocal series
        if abs(x) > mpf("1e-8"):
            with mp.extradps(40):
                known = sum(mpf(c) * x**k for k, c in enumerate(first))
                return +((function(x) - known) / x**power)
        if series is None:
            with mp.extradps(40):
                series = mp.taylor(function, 0, power + 6)[power:]
        return mp.polyval(series[::-1], x)

    return quotient


def of_square(function: Function) -> Function:
    """The same function of the square root: even functions are polynomials in x * x."""
    return lambda z: function(mp.sqrt(z))


def _odd_tail(function: Function, slope: mpf | int = 1) -> Function:
    return of_square(tail(function, 0, slope, 0))


def _relative(function: Function, power: int) -> Function:
    """How much an error in the tail that is multiplied by x**power matters in function(x)."""

    def size(z: mpf) -> mpf:
        x = mp.sqrt(z)
        return x**power / function(x) if x else mpf(0)

    return size


LOG2E = 1 / mp.log(2)
LOG2E_FLOAT32 = mpf(round_to(dtypes.float32, float(LOG2E)))
_log2_ratio = of_square(tail(lambda s: 2 * mp.atanh(s) * LOG2E, 0))
HALF_LN2 = 0.3475  # a little more than log(2) / 2, for inexact rounding to a whole number
ROOT_HALF, ROOT_TWO = 0.7071, 1.4143
QUARTER_PI_SQUARED = 0.6205
FITS = {
    "EXP": Fit(
        "(exp(r) - 1 - r) / r**2",
        tail(mp.exp, 1, 1),
        lambda r: r**2 / mp.exp(r),
        -HALF_LN2,
        HALF_LN2,
        (4, 9),
    ),
    "EXP2": Fit(
        "(2**f - 1) / f",
        tail(lambda f: mpf(2) ** f, 1),
        lambda f: f / mpf(2) ** f,
        -0.5005,
        0.5005,
        (5, 10),
    ),
    "EXPM1": Fit(
        "(exp(r) - 1 - r) / r**2, for results near zero",
        tail(mp.exp, 1, 1),
        lambda r: r**2 / mp.expm1(r) if r else mpf(0),
        -HALF_LN2,
        HALF_LN2,
        (5, 10),
    ),
    "LOG": Fit(
        "(log(1 + f) - f + f**2 / 2) / f**3",
        tail(mp.log1p, 0, 1, mpf(-1) / 2),
        lambda f: f**3 / mp.log1p(f) if f else mpf(0),
        ROOT_HALF - 1,
        ROOT_TWO - 1,
        (7, None),
    ),
    "LOG2": Fit(
        "(log2(1 + f) - f * log2(e)) / f**2",
        tail(lambda f: mp.log1p(f) * LOG2E, 0, LOG2E),
        lambda f: f**2 / (mp.log1p(f) * LOG2E) if f else mpf(0),
        ROOT_HALF - 1,
        ROOT_TWO - 1,
        (8, None),
    ),
    "LOG_RATIO": Fit(
        "(log((1 + s) / (1 - s)) - 2 s) / s**3, in s**2",
        _odd_tail(lambda s: 2 * mp.atanh(s), 2),
        _relative(lambda s: 2 * mp.atanh(s), 3),
        0.0,
        0.02945,
        (None, 6),
    ),
    "SIN": Fit(
        "(sin(r) - r) / r**3, in r**2",
        _odd_tail(mp.sin),
        _relative(mp.sin, 3),
        0.0,
        QUARTER_PI_SQUARED,
        (2, 5),
    ),
    "COS": Fit(
        "(cos(r) - 1 + r**2 / 2) / r**4, in r**2",
        of_square(tail(mp.cos, 1, 0, mpf(-1) / 2, 0)),
        _relative(mp.cos, 4),
        0.0,
        QUARTER_PI_SQUARED,
        (2, 5),
    ),
    "TAN": Fit(
        "(tan(r) - r) / r**3, in r**2",
        _odd_tail(mp.tan),
        _relative(mp.tan, 3),
        0.0,
        QUARTER_PI_SQUARED,
        (6, 13),
    ),
    "ATAN": Fit(
        "(atan(x) - x) / x**3, in x**2, up to 1",
        _odd_tail(mp.atan),
        _relative(mp.atan, 3),
        0.0,
        1.0,
        (8, None),
    ),
    "ATAN_HALF": Fit(
        "(atan(x) - x) / x**3, in x**2, up to 1/2",
        _odd_tail(mp.atan),
        _relative(mp.atan, 3),
        0.0,
        0.25,
        (None, 11),
    ),
    "ASIN": Fit(
        "(asin(x) - x) / x**3, in x**2, up to 1/2",
        _odd_tail(mp.asin),
        _relative(mp.asin, 3),
        0.0,
        0.25,
        (5, 12),
    ),
    "SINH": Fit(
        "(sinh(x) - x) / x**3, in x**2, up to 1",
        _odd_tail(mp.sinh),
        _relative(mp.sinh, 3),
        0.0,
        1.0,
        (3, 7),
    ),
    "TANH": Fit(
        "(tanh(x) - x) / x**3, in x**2, up to 0.625",
        _odd_tail(mp.tanh),
        _relative(mp.tanh, 3),
        0.0,
        0.625**2,
        (4, 10),
    ),
    "ERF": Fit(
        "erf(x) / x - 1, in x**2, up to 1",
        lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1 if z else 2 / mp.sqrt(mp.pi) - 1,
        lambda z: mp.sqrt(z) / mp.erf(mp.sqrt(z)) if z else mpf(1),
        0.0,
        1.0,
        (6, 13),
    ),
    "LOG_ERFC_FLOAT32": Fit(
        "log(1 - erf(x)), from 1 to 3.95",
        lambda x: mp.log(mp.erfc(x)),
        lambda x: mp.erfc(x) / mp.erf(x),
        1.0,
        3.95,
        (6, None),
    ),
    "LOG_ERFC_FLOAT64": Fit(
        "log(1 - erf(x)) + x**2, in x - 2.5, from 1 to 6",
        lambda u: mp.log(mp.erfc(u + 2.5)) + (u + 2.5) ** 2,
        lambda u: mp.erfc(u + 2.5) / mp.erf(u + 2.5),
        -1.5,
        3.5,
        (None, 17),
    ),
    "LOG_RATIO_TAIL": Fit(
        "(log((1 + s) / (1 - s)) - 2 s - 2/3 s**3) / s**5, in s**2",
        of_square(tail(lambda s: 2 * mp.atanh(s), 0, 2, 0, mpf(2) / 3, 0)),
        _relative(lambda s: 2 * mp.atanh(s), 5),
        0.0,
        0.02945,
        (2, 6),
    ),
    "LOG2_RATIO_SHORT": Fit(
        "log2((1 + s) / (1 - s)) / s, in s**2, for powers of float32",
        _log2_ratio,
        lambda z: 1 / _log2_ratio(z),
        0.0,
        0.02945,
        (None, 5),
    ),
    "EXP2_SHORT": Fit(
        "2**f, for powers of float32",
        lambda f: mpf(2) ** f,
        lambda f: mpf(2) ** -f,
        -0.5005,
        0.5005,
        (None, 7),
    ),
}


def solve(fit: Fit, dtype: DType, degree: int) -> tuple[tuple[float, ...], mpf]:
    """Return the rounded coefficients, lowest power first, and the largest relative error."""
    count = NODES_PER_COEFFICIENT * (degree + 1) + 20
    middle, half = mpf(fit.low + fit.high) / 2, mpf(fit.high - fit.low) / 2
    xs = [middle + half * mp.cos(mp.pi * (2 * i + 1) / (2 * count)) for i in range(count)]
    rest = [fit.function(x) for x in xs]
    sizes = [abs(fit.size(x)) for x in xs]
    coefficients: list[float] = []
    for power in range(degree + 1):
        powers = [[x**k for k in range(power, degree + 1)] for x in xs]
        first = lawson(powers, rest, sizes)[0]
        rounded = round_to(dtype, float(first))
        coefficients.append(rounded)
        rest = [r - rounded * row[0] for r, row in zip(rest, powers, strict=True)]
    return tuple(coefficients), max(abs(r * s) for r, s in zip(rest, sizes, strict=True))


def lawson(rows: Sequence[Sequence[mpf]], goal: Sequence[mpf], sizes: Sequence[mpf]) -> list[mpf]:
    """Minimize the largest |goal - rows . c| * size."""
    weights = [mpf(1)] * len(rows)
    best: list[mpf] = []
    least = mp.inf
    for _ in range(STEPS):
        scaled = [w * s * s for w, s in zip(weights, sizes, strict=True)]
        columns = len(rows[0])
        matrix = mp.matrix(columns)
        right = mp.matrix(columns, 1)
        for i in range(columns):
            weighted = [scale * row[i] for scale, row in zip(scaled, rows, strict=True)]
            right[i] = mp.fdot(weighted, goal)
            for j in range(i, columns):
                matrix[i, j] = matrix[j, i] = mp.fdot(weighted, [row[j] for row in rows])
        found = list(mp.lu_solve(matrix, right))
        errors = [
            abs(g - mp.fdot(row, found)) * s for row, g, s in zip(rows, goal, sizes, strict=True)
        ]
        largest = max(errors)
        if largest < least:
            least, best = largest, found
        total = mp.fsum(w * e for w, e in zip(weights, errors, strict=True))
        if not total:
            break
        weights = [w * e / total for w, e in zip(weights, errors, strict=True)]
    return best


def known() -> dict[str, str]:
    """The entries that the module has now, by name."""
    entries: dict[str, str] = {}
    if MODULE.exists():
        for part in MODULE.read_text(encoding="utf-8").split("\n\n#")[1:]:
            name = part.splitlines()[1].split(" = ")[0]
            entries[name] = "#" + part.rstrip()
    return entries


def entry(name: str, fit: Fit) -> str:
    """The lines of the module for one function."""
    lines = [f"# {name} approximates {fit.sentence}.", f"{name} = Coefficients("]
    for dtype, degree in zip((dtypes.float32, dtypes.float64), fit.degrees, strict=True):
        coefficients: tuple[float, ...] = ()
        if degree is not None:
            coefficients, error = solve(fit, dtype, degree)
            bits = float(mp.log(error, 2)) if error else -999.0
            print(f"{name:10} {dtype.name} degree {degree:2}: error 2**{bits:.1f}", flush=True)
            lines.append(f"    # largest relative error 2**{bits:.1f}")
        lines.append(f"    {dtype.name}=({''.join(f'{c!r}, ' for c in coefficients).rstrip()}),")
    return "\n".join([*lines, ")"])


HEAD = '''"""Coefficients of polynomials, lowest power first, by benchmarks/fit_polynomials.py."""

from tiny_codegen.program.math.polynomial import Coefficients
'''


def main(names: Sequence[str]) -> None:
    """Fit what is named, or all, and write the module."""
    entries = known()
    for name in names or FITS:
        entries[name] = entry(name, FITS[name])
    body = "\n\n".join(entries[name] for name in FITS if name in entries)
    MODULE.write_text(f"{HEAD}\n{body}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
