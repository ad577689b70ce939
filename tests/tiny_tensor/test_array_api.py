"""Every function of the array API standard gives what array-api-strict gives.

Arguments are drawn by `hypothesis.extra.array_api`: dtypes, shapes and axes from our own namespace,
so that it shows what there is (no complex dtypes), and elements in theirs.
"""

from __future__ import annotations

import copy
import inspect
import math
import operator
from collections.abc import Callable
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.array_api import make_strategies_namespace

from tiny_ir import AxisError, TinyError, dtypes
from tiny_tensor import Tensor
from tiny_tensor import array_api as xp

pytestmark = pytest.mark.usefixtures("session")

CHEAP = settings(
    max_examples=3,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
OURS = make_strategies_namespace(xp, api_version="2024.12")
THEIRS = make_strategies_namespace(strict, api_version="2024.12")
strict.set_array_api_strict_flags(api_version="2024.12")

DTYPES = st.one_of(OURS.boolean_dtypes(), OURS.real_dtypes())  # scalar_dtypes asks for complex ones

INFO = xp.__array_namespace_info__()
FLOATS = sorted(INFO.dtypes(kind="real floating"))
INTEGERS = sorted(INFO.dtypes(kind="integral"))
NUMBERS = [*FLOATS, *INTEGERS]
NOT_FLOATS = ["bool", *INTEGERS]
ALL = ["bool", *NUMBERS]

NOT_HERE = {
    "complex64": "there are no complex dtypes",
    "complex128": "there are no complex dtypes",
}
BEYOND_2024 = {"broadcast_shapes", "isin"}
OF_STRICT_ALONE = {
    "ArrayAPIStrictFlags",
    "Device",
    "ModuleType",
    "get_array_api_strict_flags",
    "reset_array_api_strict_flags",
    "set_array_api_strict_flags",
}


def mine(array: Any) -> Any:
    """Their array, or arrays, as ours."""
    if isinstance(array, list | tuple):
        return type(array)([mine(one) for one in array])
    is_theirs = type(array).__module__.startswith("array_api_strict")
    return Tensor(np.asarray(array)) if is_theirs and hasattr(array, "shape") else array


def check_same(
    ours: Any, theirs: Any, tolerance: float = 1e-5, *, exact_dtype: bool = True
) -> None:
    """Shapes, dtypes and elements agree; positions and sums may have another integer dtype."""
    if isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            check_same(one, other, tolerance, exact_dtype=exact_dtype)
        return
    if not hasattr(theirs, "shape"):
        assert ours == theirs
        return
    expected = np.asarray(theirs)
    assert isinstance(ours, Tensor)
    assert ours.shape == expected.shape
    if exact_dtype and expected.dtype.kind not in "iu":
        assert ours.dtype.name == expected.dtype.name
    found = ours.numpy()
    if expected.dtype.kind == "f":
        bound = tolerance if expected.dtype == np.float32 or not exact_dtype else tolerance**2
        np.testing.assert_allclose(found, expected, rtol=bound, atol=bound)
    else:
        np.testing.assert_array_equal(found.astype(expected.dtype), expected)


def arrays(
    names: list[str], *, least: float = -50, most: float = 50, special: bool = False, **shape: int
) -> st.SearchStrategy[Any]:
    """Their arrays of some dtypes, of at most two small axes unless `shape` says otherwise."""
    limits = {"min_dims": 0, "max_dims": 2, "max_side": 3, **shape}

    def of_dtype(name: str) -> st.SearchStrategy[Any]:
        sizes = OURS.array_shapes(**limits)
        return sizes.flatmap(lambda size: array_of(name, size, least, most, special=special))

    return st.sampled_from(names).flatmap(of_dtype)


def array_of(
    name: str,
    shape: tuple[int, ...],
    least: float = -50,
    most: float = 50,
    *,
    special: bool = False,
    coarse: bool = False,
) -> st.SearchStrategy[Any]:
    """Their arrays of one dtype and shape."""
    elements: dict[str, Any] | st.SearchStrategy[Any] | None
    if name == "bool":
        elements = None
    elif name.startswith("float"):
        width = 32 if name == "float32" else 64
        plain = st.floats(least, most, width=width, allow_subnormal=False)
        if coarse:  # remainders are exact while quotients are whole numbers of a float
            plain = st.integers(int(least), int(most)).map(lambda number: number / 4)
        unusual = st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0])
        elements = st.one_of(plain, unusual) if special else plain
    else:
        low = 0 if name.startswith("u") else max(int(least), -100)
        elements = {"min_value": low, "max_value": min(int(most), 100)}
    return THEIRS.arrays(getattr(strict, name), shape, elements=elements)


def pairs(names: list[str], **options: Any) -> st.SearchStrategy[tuple[Any, Any]]:
    """Two arrays of one dtype that broadcast."""
    shapes = OURS.mutually_broadcastable_shapes(2, max_dims=2, max_side=3)

    def of(name: str) -> st.SearchStrategy[tuple[Any, Any]]:
        return shapes.flatmap(
            lambda found: st.tuples(*[array_of(name, one, **options) for one in found.input_shapes])
        )

    return st.sampled_from(names).flatmap(of)


# --- names ---------------------------------------------------------------------------------------


def test_every_name_of_the_standard_is_there() -> None:
    names = {name for name in dir(strict) if not name.startswith("_")}
    missing = {name for name in names if not hasattr(xp, name)}
    assert missing == {*NOT_HERE, *BEYOND_2024, *OF_STRICT_ALONE}


@pytest.mark.parametrize("extension", ["linalg", "fft"])
def test_every_name_of_the_extensions_is_there(extension: str) -> None:
    room = getattr(strict, extension)
    names = set(room.__all__) - {"eig", "eigvals"}  # of 2025.12, and complex
    assert {name for name in names if not hasattr(getattr(xp, extension), name)} == set()


def functions_of(room: Any) -> list[tuple[str, Any, Any]]:
    """Each function of a namespace of theirs, and ours."""
    return [
        (name, getattr(xp if room is strict else getattr(xp, room.__name__[17:]), name), theirs)
        for name, theirs in inspect.getmembers(room, inspect.isfunction)
        if not name.startswith("_") and name not in {*OF_STRICT_ALONE, *BEYOND_2024}
    ]


@pytest.mark.parametrize(("name", "ours", "theirs"), functions_of(strict))
def test_signatures_are_those_of_the_standard(name: str, ours: Any, theirs: Any) -> None:
    expected = inspect.signature(theirs).parameters
    found = inspect.signature(ours).parameters
    for word, parameter in expected.items():
        if parameter.kind is parameter.KEYWORD_ONLY:
            assert word in found
    count = sum(p.kind is p.POSITIONAL_ONLY for p in expected.values())
    assert count <= sum(p.kind is not p.KEYWORD_ONLY for p in found.values()) or "arrays" in found


# --- elementwise ---------------------------------------------------------------------------------

EXACT_UNARY = {
    "abs": NUMBERS,
    "bitwise_invert": NOT_FLOATS,
    "ceil": NUMBERS,
    "floor": NUMBERS,
    "isfinite": NUMBERS,
    "isinf": NUMBERS,
    "isnan": NUMBERS,
    "logical_not": ["bool"],
    "negative": [name for name in NUMBERS if not name.startswith("u")],
    "positive": NUMBERS,
    "round": NUMBERS,
    "sign": NUMBERS,
    "signbit": FLOATS,
    "square": NUMBERS,
    "trunc": NUMBERS,
}
FLOAT_UNARY = [
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1", "log"),
    *("log1p", "log2", "log10", "reciprocal", "sin", "sinh", "sqrt", "tan", "tanh"),
]
EXACT_BINARY = {
    "add": NUMBERS,
    "bitwise_and": NOT_FLOATS,
    "bitwise_or": NOT_FLOATS,
    "bitwise_xor": NOT_FLOATS,
    "copysign": FLOATS,
    "divide": FLOATS,
    "equal": ALL,
    "floor_divide": FLOATS,
    "greater": NUMBERS,
    "greater_equal": NUMBERS,
    "less": NUMBERS,
    "less_equal": NUMBERS,
    "logical_and": ["bool"],
    "logical_or": ["bool"],
    "logical_xor": ["bool"],
    "maximum": NUMBERS,
    "minimum": NUMBERS,
    "multiply": NUMBERS,
    "nextafter": FLOATS,
    "not_equal": ALL,
    "remainder": FLOATS,
    "subtract": NUMBERS,
}
FLOAT_BINARY = ["atan2", "hypot", "logaddexp", "pow"]


@pytest.mark.parametrize("name", EXACT_UNARY)
def test_exact_functions_of_one_array(name: str) -> None:
    @CHEAP
    @given(arrays(EXACT_UNARY[name], special=True))
    def law(x: Any) -> None:
        check_same(getattr(xp, name)(mine(x)), getattr(strict, name)(x), 0.0)

    law()


@pytest.mark.parametrize("name", FLOAT_UNARY)
def test_functions_of_one_array(name: str) -> None:
    @CHEAP
    @given(arrays(FLOATS, special=True, least=-3, most=3))
    def law(x: Any) -> None:
        with np.errstate(all="ignore"):
            check_same(getattr(xp, name)(mine(x)), getattr(strict, name)(x), 2e-6)

    law()


@pytest.mark.parametrize("name", EXACT_BINARY)
def test_exact_functions_of_two_arrays(name: str) -> None:
    @CHEAP
    @given(pairs(EXACT_BINARY[name], special=True, coarse=name in ("remainder", "floor_divide")))
    def law(both: tuple[Any, Any]) -> None:
        with np.errstate(all="ignore"):
            theirs = getattr(strict, name)(*both)
        check_same(getattr(xp, name)(*map(mine, both)), theirs, 0.0)

    law()


@pytest.mark.parametrize("name", FLOAT_BINARY)
def test_functions_of_two_arrays(name: str) -> None:
    @CHEAP
    @given(pairs(FLOATS, special=True, least=-5, most=5))
    def law(both: tuple[Any, Any]) -> None:
        with np.errstate(all="ignore"):
            theirs = getattr(strict, name)(*both)
        check_same(getattr(xp, name)(*map(mine, both)), theirs, 5e-6)

    law()


@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
@CHEAP
@given(data=st.data())
def test_whole_quotients_of_integers(name: str, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(INTEGERS))
    x, y = data.draw(array_of(dtype, (3,))), data.draw(array_of(dtype, (3,), least=1))
    y = strict.where(y == 0, strict.asarray(1, dtype=y.dtype), y)
    check_same(getattr(xp, name)(mine(x), mine(y)), getattr(strict, name)(x, y))


@pytest.mark.parametrize("name", ["bitwise_left_shift", "bitwise_right_shift"])
@CHEAP
@given(data=st.data())
def test_shifts(name: str, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(INTEGERS))
    x, y = data.draw(array_of(dtype, (3,))), data.draw(array_of(dtype, (3,), least=0, most=7))
    check_same(getattr(xp, name)(mine(x), mine(y)), getattr(strict, name)(x, y))


@CHEAP
@given(arrays(FLOATS), st.floats(-5, 0, width=32), st.floats(1, 5, width=32))
def test_clip(x: Any, low: float, high: float) -> None:
    check_same(xp.clip(mine(x), low, high), strict.clip(x, low, high), 0.0)
    check_same(xp.clip(mine(x), max=high), strict.clip(x, max=high), 0.0)
    check_same(xp.clip(mine(x)), strict.clip(x), 0.0)


def test_python_numbers_stand_on_either_side() -> None:
    x = strict.asarray([1.0, 2.0], dtype=strict.float32)
    for name in ("add", "subtract", "divide", "pow", "maximum", "less", "hypot"):
        function = getattr(strict, name)
        check_same(getattr(xp, name)(mine(x), 3), function(x, 3))
        check_same(getattr(xp, name)(3, mine(x)), function(3, x))
    with pytest.raises(TypeError, match="at least one array"):
        xp.add(1, 2)


@CHEAP
@given(arrays(NUMBERS))
def test_real_numbers_are_their_own_parts(x: Any) -> None:
    ours = mine(x)
    for result, expected in (
        (xp.real(ours), x),
        (xp.conj(ours), x),
        (xp.imag(ours), strict.zeros_like(x)),
    ):
        check_same(result, expected)


@pytest.mark.parametrize(
    "operator_",
    [
        operator.add,
        operator.sub,
        operator.mul,
        operator.truediv,
        operator.floordiv,
        operator.mod,
        operator.pow,
        operator.lt,
        operator.le,
        operator.gt,
        operator.ge,
        operator.eq,
        operator.ne,
        operator.iadd,
        operator.isub,
        operator.imul,
        operator.itruediv,
    ],
)
def test_operators(operator_: Callable[[Any, Any], Any]) -> None:
    x = strict.asarray([1.0, 5.0, 2.5])
    y = strict.asarray([2.0, 3.0, 2.0])
    ours = operator_(mine(x), mine(y))
    check_same(ours, operator_(x, y))
    check_same(operator_(mine(y), 2.0), operator_(y, 2.0))


# --- creation ------------------------------------------------------------------------------------


@CHEAP
@given(OURS.array_shapes(min_dims=0, max_dims=2, max_side=3), DTYPES)
def test_constants(shape: tuple[int, ...], dtype: Any) -> None:
    theirs = getattr(strict, dtype.name)
    check_same(xp.zeros(shape, dtype=dtype), strict.zeros(shape, dtype=theirs))
    check_same(xp.ones(shape, dtype=dtype), strict.ones(shape, dtype=theirs))
    check_same(xp.full(shape, True, dtype=dtype), strict.full(shape, True, dtype=theirs))
    assert xp.empty(shape, dtype=dtype).shape == shape
    x = strict.ones(shape, dtype=theirs)
    check_same(xp.zeros_like(mine(x)), strict.zeros_like(x))
    check_same(xp.ones_like(mine(x)), x)
    check_same(xp.full_like(mine(x), False), strict.full_like(x, False))
    assert xp.empty_like(mine(x)).dtype is dtype


@CHEAP
@given(st.integers(-5, 5), st.integers(-5, 20), st.integers(1, 4))
def test_arange(start: int, stop: int, step: int) -> None:
    check_same(xp.arange(start, stop, step), strict.arange(start, stop, step))
    check_same(xp.arange(stop, start, -step), strict.arange(stop, start, -step))
    check_same(xp.arange(stop), strict.arange(stop))


@CHEAP
@given(st.integers(-5, 5), st.integers(-5, 20), st.integers(0, 5), st.booleans())
def test_linspace(start: float, stop: float, num: int, endpoint: bool) -> None:
    ours = xp.linspace(start, stop, num, endpoint=endpoint, dtype=xp.float64)
    check_same(ours, strict.linspace(start, stop, num, endpoint=endpoint))


@CHEAP
@given(st.integers(0, 4), st.integers(0, 4), st.integers(-3, 3))
def test_eye(rows: int, columns: int, k: int) -> None:
    check_same(xp.eye(rows, columns, k=k), strict.eye(rows, columns, k=k), exact_dtype=False)


@CHEAP
@given(arrays(NUMBERS, min_dims=2), st.integers(-2, 2))
def test_triangles(x: Any, k: int) -> None:
    check_same(xp.tril(mine(x), k=k), strict.tril(x, k=k))
    check_same(xp.triu(mine(x), k=k), strict.triu(x, k=k))


@pytest.mark.parametrize("indexing", ["xy", "ij"])
def test_meshgrid(indexing: str) -> None:
    lines = [strict.arange(size) for size in (2, 3, 4)]
    ours = xp.meshgrid(*map(mine, lines), indexing=indexing)
    check_same(ours, strict.meshgrid(*lines, indexing=indexing))
    assert xp.meshgrid() == []


@pytest.mark.parametrize("value", [3, 2.5, True, [1, 2], [[1.5], [2]], [[], []], [[True], [False]]])
def test_asarray_of_python_numbers(value: Any) -> None:
    ours, theirs = xp.asarray(value), strict.asarray(value)
    check_same(ours, theirs, exact_dtype=False)
    assert xp.isdtype(ours.dtype, "real floating") == strict.isdtype(theirs.dtype, "real floating")


def test_asarray_of_others() -> None:
    numbers = np.arange(6.0).reshape(2, 3)
    assert xp.asarray(numbers).tolist() == numbers.tolist()
    assert xp.asarray(strict.asarray([1, 2])).tolist() == [1, 2]
    assert xp.asarray(memoryview(np.asarray([1, 2], np.int16))).dtype is dtypes.int16
    assert xp.asarray([xp.asarray(1), xp.asarray(2)]).tolist() == [1, 2]
    x = xp.asarray([1, 2])
    assert xp.asarray(x) is x
    assert xp.asarray(x, copy=True) is not x
    for wrong in (
        lambda: xp.asarray([1], copy=False),
        lambda: xp.asarray(x, dtype=xp.int8, copy=False),
    ):
        with pytest.raises(ValueError, match="without a copy"):
            wrong()
    with pytest.raises(TypeError, match="cannot be made"):
        xp.asarray(object())


# --- dtypes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_promotion_is_that_of_the_standard(name: str) -> None:
    for other in ALL:
        one, two = getattr(strict, name), getattr(strict, other)
        try:
            expected = strict.result_type(one, two)
        except TypeError:
            continue  # mixed kinds, which the standard leaves open
        found = xp.result_type(getattr(xp, name), getattr(xp, other))
        assert found is getattr(xp, np.dtype(expected._np_dtype).name)


@pytest.mark.parametrize("name", ALL)
def test_kinds_and_limits(name: str) -> None:
    ours, theirs = getattr(xp, name), getattr(strict, name)
    kinds = ("bool", "signed integer", "unsigned integer", "integral", "real floating", "numeric")
    for kind in (*kinds, "complex floating", ("bool", "integral")):
        assert xp.isdtype(ours, kind) == strict.isdtype(theirs, kind)
    if name in INTEGERS:
        limits, expected = xp.iinfo(ours), strict.iinfo(theirs)
        assert (limits.bits, limits.max, limits.min) == (expected.bits, expected.max, expected.min)
    elif name in FLOATS:
        found, known = xp.finfo(ours), strict.finfo(theirs)
        for field in ("bits", "eps", "max", "min", "smallest_normal"):
            assert getattr(found, field) == pytest.approx(getattr(known, field), rel=1e-7)
    with pytest.raises(ValueError, match="no kind"):
        xp.isdtype(ours, "strange")


@pytest.mark.parametrize("name", ALL)
def test_casts(name: str) -> None:
    x = strict.asarray([0.0, 1.0, 7.0])
    theirs = strict.astype(x, getattr(strict, name))
    check_same(xp.astype(mine(x), getattr(xp, name)), theirs)
    for other in NUMBERS:
        one, two = getattr(strict, name), getattr(strict, other)
        try:
            expected = strict.can_cast(one, two)
            strict.result_type(one, two)
        except TypeError:
            continue
        assert xp.can_cast(getattr(xp, name), getattr(xp, other)) == expected


def test_what_the_namespace_says_of_itself() -> None:
    x = xp.asarray([1.0])
    assert x.__array_namespace__() is xp
    assert x.__array_namespace__(api_version="2024.12") is xp
    with pytest.raises(ValueError, match=r"no array API '1999\.12'"):
        x.__array_namespace__(api_version="1999.12")
    assert xp.__array_api_version__ == "2024.12"
    assert INFO.capabilities()["boolean indexing"] is True
    assert INFO.default_dtypes() == {
        "real floating": xp.float32,
        "integral": xp.int32,
        "indexing": xp.int32,
    }
    assert INFO.default_device() in INFO.devices()
    assert INFO.dtypes(kind="complex floating") == {}
    assert set(INFO.dtypes(kind=("bool", "signed integer"))) == {
        "bool",
        *[f"int{n}" for n in (8, 16, 32, 64)],
    }
    assert (xp.e, xp.pi, xp.inf, xp.newaxis) == (math.e, math.pi, math.inf, None)
    assert math.isnan(xp.nan)


# --- shapes --------------------------------------------------------------------------------------


@CHEAP
@given(st.data())
def test_shapes_change(data: st.DataObject) -> None:
    x = data.draw(arrays(ALL, min_dims=1, min_side=1))
    ours, rank = mine(x), x.ndim
    axis = data.draw(st.integers(-rank, rank - 1))
    order = tuple(data.draw(st.permutations(range(rank))))
    check_same(xp.expand_dims(ours, axis), strict.expand_dims(x, axis=axis))
    check_same(xp.flip(ours, axis=axis), strict.flip(x, axis=axis))
    check_same(xp.flip(ours), strict.flip(x))
    check_same(xp.permute_dims(ours, order), strict.permute_dims(x, order))
    check_same(xp.moveaxis(ours, axis, 0), strict.moveaxis(x, axis, 0))
    check_same(xp.reshape(ours, (-1,)), strict.reshape(x, (-1,)))
    check_same(xp.roll(ours, 2, axis=axis), strict.roll(x, 2, axis=axis))
    check_same(xp.roll(ours, 1), strict.roll(x, 1))
    check_same(xp.unstack(ours, axis=axis), strict.unstack(x, axis=axis))
    check_same(xp.tile(ours, (2, 1, 2)), strict.tile(x, (2, 1, 2)))
    check_same(xp.repeat(ours, 2, axis=axis), strict.repeat(x, 2, axis=axis))
    check_same(xp.repeat(ours, 2), strict.repeat(x, 2))
    each = strict.asarray([n % 3 for n in range(x.shape[axis])])
    check_same(xp.repeat(ours, mine(each), axis=axis), strict.repeat(x, each, axis=axis))


@CHEAP
@given(pairs(NUMBERS))
def test_arrays_are_joined_and_broadcast(both: tuple[Any, Any]) -> None:
    ours = mine(both)
    spread = strict.broadcast_arrays(*both)
    check_same(xp.broadcast_arrays(*ours), spread)
    check_same(
        xp.broadcast_to(ours[0], spread[0].shape), strict.broadcast_to(both[0], spread[0].shape)
    )
    check_same(xp.stack(mine(spread), axis=-1), strict.stack(spread, axis=-1))
    check_same(xp.concat(ours, axis=None), strict.concat(both, axis=None))
    if spread[0].ndim:
        check_same(xp.concat(mine(spread), axis=0), strict.concat(spread, axis=0))


def test_shapes_are_refused() -> None:
    x = xp.zeros((2, 1))
    assert xp.squeeze(x, axis=1).shape == (2,)
    for wrong in (
        lambda: xp.squeeze(x, axis=0),
        lambda: xp.concat([]),
        lambda: xp.stack([]),
        lambda: xp.reshape(x, (3,)),
        lambda: xp.moveaxis(x, 0, 5),
        lambda: xp.take(x, xp.asarray([0])),
        lambda: xp.cumulative_sum(x),
        lambda: xp.permute_dims(x, (0, 0)),
    ):
        with pytest.raises(TinyError) as caught:
            wrong()
        assert isinstance(caught.value, ValueError)
        assert caught.value.why
        assert caught.value.fix


@CHEAP
@given(st.data())
def test_indexing(data: st.DataObject) -> None:
    x = data.draw(arrays(NUMBERS, min_dims=1, min_side=1))
    key = data.draw(OURS.indices(x.shape, allow_newaxis=True))
    ours = mine(x)
    check_same(ours[key], x[key])
    mask = x > 0
    check_same(ours[mine(mask)], x[mask])
    ours[mine(mask)] = 1
    x[mask] = strict.asarray(1, dtype=x.dtype)
    check_same(ours, x)


@CHEAP
@given(st.data())
def test_take(data: st.DataObject) -> None:
    x = data.draw(arrays(NUMBERS, min_dims=1, min_side=1))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    places = strict.asarray([0, x.shape[axis] - 1, 0])
    check_same(xp.take(mine(x), mine(places), axis=axis), strict.take(x, places, axis=axis))
    order = strict.argsort(x, axis=axis)
    ours = xp.take_along_axis(mine(x), mine(order), axis=axis)
    check_same(ours, strict.take_along_axis(x, order, axis=axis))


# --- along axes ----------------------------------------------------------------------------------

SUMS = {
    "sum": NUMBERS,
    "prod": NUMBERS,
    "mean": FLOATS,
    "std": FLOATS,
    "var": FLOATS,
    "max": NUMBERS,
    "min": NUMBERS,
    "all": ALL,
    "any": ALL,
    "count_nonzero": ALL,
}


@pytest.mark.parametrize("name", SUMS)
def test_values_of_axes(name: str) -> None:
    @CHEAP
    @given(st.data())
    def law(data: st.DataObject) -> None:
        x = data.draw(arrays(SUMS[name], min_side=1, least=-4, most=4))
        axis = data.draw(st.one_of(st.none(), OURS.valid_tuple_axes(x.ndim)))
        options: dict[str, Any] = {"axis": axis, "keepdims": data.draw(st.booleans())}
        theirs = getattr(strict, name)(x, **options)
        check_same(getattr(xp, name)(mine(x), **options), theirs)
        if name in ("std", "var"):
            with np.errstate(all="ignore"):
                other = getattr(strict, name)(x, correction=0.5, **options)
            check_same(getattr(xp, name)(mine(x), correction=0.5, **options), other)

    law()


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@CHEAP
@given(data=st.data())
def test_places_of_extremes(name: str, data: st.DataObject) -> None:
    x = data.draw(arrays(NUMBERS, min_dims=1, min_side=1))
    axis = data.draw(st.one_of(st.none(), st.integers(-x.ndim, x.ndim - 1)))
    check_same(getattr(xp, name)(mine(x), axis=axis), getattr(strict, name)(x, axis=axis))


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
@CHEAP
@given(data=st.data())
def test_running_values(name: str, data: st.DataObject) -> None:
    x = data.draw(arrays(NUMBERS, min_dims=1, min_side=1, least=-3, most=3))
    options = {
        "axis": data.draw(st.integers(-x.ndim, x.ndim - 1)),
        "include_initial": data.draw(st.booleans()),
    }
    check_same(getattr(xp, name)(mine(x), **options), getattr(strict, name)(x, **options))


@CHEAP
@given(st.data())
def test_diff(data: st.DataObject) -> None:
    x = data.draw(arrays(NUMBERS, min_dims=1, min_side=1))
    axis, n = data.draw(st.integers(-x.ndim, x.ndim - 1)), data.draw(st.integers(0, 3))
    check_same(xp.diff(mine(x), axis=axis, n=n), strict.diff(x, axis=axis, n=n))
    check_same(
        xp.diff(mine(x), axis=axis, prepend=mine(x), append=mine(x)),
        strict.diff(x, axis=axis, prepend=x, append=x),
    )


@pytest.mark.parametrize("descending", [False, True])
@CHEAP
@given(data=st.data())
def test_order(descending: bool, data: st.DataObject) -> None:
    x = data.draw(arrays(NUMBERS, min_dims=1, min_side=1))
    options = {"axis": data.draw(st.integers(-x.ndim, x.ndim - 1)), "descending": descending}
    check_same(xp.sort(mine(x), **options), strict.sort(x, **options))
    check_same(xp.argsort(mine(x), **options), strict.argsort(x, **options))


@CHEAP
@given(st.data())
def test_searching(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(NUMBERS))
    table = strict.sort(data.draw(array_of(dtype, (5,))))
    x = data.draw(array_of(dtype, (2, 3)))
    for side in ("left", "right"):
        ours = xp.searchsorted(mine(table), mine(x), side=side)
        check_same(ours, strict.searchsorted(table, x, side=side))
    check_same(xp.nonzero(mine(x)), strict.nonzero(x))
    check_same(xp.where(mine(x > 1), mine(x), 0), strict.where(x > 1, x, 0))
    with pytest.raises(ValueError, match="no position"):
        xp.nonzero(xp.asarray(1))


@CHEAP
@given(arrays(ALL, least=-3, most=3))
def test_different_values(x: Any) -> None:
    check_same(tuple(xp.unique_all(mine(x))), tuple(strict.unique_all(x)))
    check_same(tuple(xp.unique_counts(mine(x))), tuple(strict.unique_counts(x)))
    check_same(tuple(xp.unique_inverse(mine(x))), tuple(strict.unique_inverse(x)))
    check_same(xp.unique_values(mine(x)), strict.unique_values(x))


def test_every_nan_is_a_value_of_its_own() -> None:
    found = xp.unique_all(xp.asarray([math.nan, 1.0, math.nan]))
    assert found.values.numpy()[0] == 1.0
    assert found.values.shape == (3,)
    assert found.counts.tolist() == [1, 1, 1]


# --- matrices ------------------------------------------------------------------------------------

MATRICES = {"least": -3.0, "most": 3.0}


def matrix(*shape: int) -> st.SearchStrategy[Any]:
    """Their arrays of floats far from singular ones."""
    return st.integers(0, 2**32 - 1).map(
        lambda seed: strict.asarray(np.random.default_rng(seed).normal(size=shape))
    )


@CHEAP
@given(matrix(2, 3, 4), matrix(2, 4, 3))
def test_products(x: Any, y: Any) -> None:
    a, b = mine(x), mine(y)
    for room, theirs in ((xp, strict), (xp.linalg, strict.linalg)):
        check_same(room.matmul(a, b), theirs.matmul(x, y))
        check_same(room.matrix_transpose(a), theirs.matrix_transpose(x))
        check_same(room.vecdot(a, a, axis=1), theirs.vecdot(x, x, axis=-2))
        check_same(
            room.tensordot(a, b, axes=((2, 0), (1, 0))),
            theirs.tensordot(x, y, axes=((2, 0), (1, 0))),
        )
        check_same(room.tensordot(a, b, axes=0), theirs.tensordot(x, y, axes=0))
    check_same(a @ b, x @ y)
    check_same(a.mT, x.mT)
    check_same(xp.linalg.outer(a[0, 0], b[0, 0]), strict.linalg.outer(x[0, 0, :], y[0, 0, :]))
    check_same(
        xp.linalg.cross(a, a[:, ::-1], axis=1), strict.linalg.cross(x, x[:, ::-1, :], axis=-2)
    )
    check_same(xp.linalg.diagonal(a, offset=1), strict.linalg.diagonal(x, offset=1))
    check_same(xp.linalg.trace(a, offset=-1), strict.linalg.trace(x, offset=-1))


@CHEAP
@given(matrix(2, 3, 3), matrix(2, 3, 2))
def test_square_matrices(x: Any, y: Any) -> None:
    a = mine(x)
    check_same(xp.linalg.det(a), strict.linalg.det(x))
    check_same(tuple(xp.linalg.slogdet(a)), tuple(strict.linalg.slogdet(x)))
    check_same(xp.linalg.solve(a, mine(y)), strict.linalg.solve(x, y), 1e-4)
    check_same(xp.linalg.solve(a, mine(y[0, :, 0])), strict.linalg.solve(x, y[0, :, 0]), 1e-4)
    check_same(xp.linalg.inv(a), strict.linalg.inv(x), 1e-4)
    for n in (-2, 0, 1, 5):
        check_same(xp.linalg.matrix_power(a, n), strict.linalg.matrix_power(x, n), 1e-4)
    positive = x @ x.mT + strict.eye(3)
    for upper in (False, True):
        ours = xp.linalg.cholesky(mine(positive), upper=upper)
        check_same(ours, strict.linalg.cholesky(positive, upper=upper))


@CHEAP
@given(matrix(2, 3, 3))
def test_eigenvectors(x: Any) -> None:
    whole = mine(x + x.mT)
    values, vectors = xp.linalg.eigh(whole)
    check_same(values, strict.linalg.eigh(x + x.mT).eigenvalues)
    check_same(xp.linalg.eigvalsh(whole), strict.linalg.eigvalsh(x + x.mT))
    assert (vectors @ (values.unsqueeze(-1) * vectors.mT)).allclose(whole)
    assert (vectors.mT @ vectors).allclose(Tensor.eye(3, dtype="float64"), atol=1e-12)


@pytest.mark.parametrize("shape", [(4, 3)])
@CHEAP
@given(data=st.data())
def test_factors(shape: tuple[int, int], data: st.DataObject) -> None:
    x = data.draw(matrix(*shape))
    a = mine(x)
    for mode in ("reduced", "complete"):
        check_same(tuple(xp.linalg.qr(a, mode=mode)), tuple(strict.linalg.qr(x, mode=mode)))
    check_same(xp.linalg.svdvals(a), strict.linalg.svdvals(x))
    for full in (False, True):
        found, expected = (
            xp.linalg.svd(a, full_matrices=full),
            strict.linalg.svd(x, full_matrices=full),
        )
        assert [side.shape for side in found] == [side.shape for side in expected]
        k = min(shape)
        assert ((found.U[:, :k] * found.S) @ found.Vh[:k]).allclose(a)
    check_same(xp.linalg.pinv(a), strict.linalg.pinv(x))
    check_same(xp.linalg.matrix_rank(a), strict.linalg.matrix_rank(x))
    for order in ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf):
        check_same(xp.linalg.matrix_norm(a, ord=order), strict.linalg.matrix_norm(x, ord=order))
    for number in (1, 2, 3, 0, math.inf, -math.inf, 0.5):
        options: dict[str, Any] = {"ord": number, "axis": 0}
        check_same(xp.linalg.vector_norm(a, **options), strict.linalg.vector_norm(x, **options))


# --- transforms ----------------------------------------------------------------------------------


def paired(z: Any) -> Any:
    """A complex array as pairs."""
    array = np.asarray(z)
    return Tensor(np.stack([array.real, array.imag], -1))


def check_pairs(ours: Any, theirs: Any) -> None:
    """Pairs agree with a complex array."""
    array = np.asarray(theirs)
    np.testing.assert_allclose(ours.numpy(), np.stack([array.real, array.imag], -1), atol=1e-9)


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@CHEAP
@given(data=st.data())
def test_transforms(norm: str, data: st.DataObject) -> None:
    x, y = data.draw(matrix(2, 6)), data.draw(matrix(2, 6))
    z = x + strict.astype(y, strict.complex128) * 1j
    n = data.draw(st.sampled_from([None, 4, 7]))
    for name in ("fft", "ifft"):
        ours = getattr(xp.fft, name)(paired(z), n=n, axis=-1, norm=norm)
        check_pairs(ours, getattr(strict.fft, name)(z, n=n, axis=-1, norm=norm))
    for name in ("fftn", "ifftn"):
        check_pairs(
            getattr(xp.fft, name)(paired(z), norm=norm), getattr(strict.fft, name)(z, norm=norm)
        )
    check_pairs(xp.fft.rfft(mine(x), n=n, norm=norm), strict.fft.rfft(x, n=n, norm=norm))
    check_pairs(xp.fft.ihfft(mine(x), n=n, norm=norm), strict.fft.ihfft(x, n=n, norm=norm))
    check_pairs(xp.fft.rfftn(mine(x), norm=norm), strict.fft.rfftn(x, norm=norm))
    half = strict.fft.rfftn(x, norm=norm)
    for name in ("irfft", "hfft"):
        ours = getattr(xp.fft, name)(paired(half), n=n, norm=norm)
        np.testing.assert_allclose(
            ours.numpy(), np.asarray(getattr(strict.fft, name)(half, n=n, norm=norm)), atol=1e-9
        )
    np.testing.assert_allclose(
        xp.fft.irfftn(paired(half), norm=norm).numpy(), np.asarray(x), atol=1e-9
    )


@pytest.mark.parametrize("n", [1, 4, 5])
def test_frequencies(n: int) -> None:
    check_same(xp.fft.fftfreq(n, d=0.5), strict.fft.fftfreq(n, d=0.5), exact_dtype=False)
    check_same(xp.fft.rfftfreq(n, d=0.5), strict.fft.rfftfreq(n, d=0.5), exact_dtype=False)
    x = strict.arange(2 * n, dtype=strict.float64)
    check_same(xp.fft.fftshift(mine(x)), strict.fft.fftshift(x))
    check_same(xp.fft.ifftshift(mine(x)), strict.fft.ifftshift(x))


# --- the array object ----------------------------------------------------------------------------


@CHEAP
@given(OURS.arrays(DTYPES, OURS.array_shapes(max_dims=2, max_side=3)))
def test_hypothesis_draws_our_arrays(x: Any) -> None:
    assert isinstance(x, Tensor)
    assert x.size == math.prod(x.shape)
    assert xp.asarray(x.tolist(), dtype=x.dtype).shape == x.shape


def test_an_array_of_no_axes_is_its_element() -> None:
    assert bool(xp.asarray(True)) is True
    assert int(xp.asarray(3)) == 3
    assert float(xp.asarray(2.5)) == 2.5
    assert complex(xp.asarray(2.5)) == 2.5 + 0j
    assert [10, 20, 30][xp.asarray(1)] == 20
    for wrong in (
        lambda: bool(xp.asarray([True])),
        lambda: float(xp.asarray([1.0])),
        lambda: operator.index(xp.asarray(1.0)),
    ):
        with pytest.raises(TypeError):
            wrong()


def test_attributes_of_arrays() -> None:
    x = xp.zeros((2, 3))
    assert (x.ndim, x.size, x.shape, x.T.shape, x.mT.shape) == (2, 6, (2, 3), (3, 2), (3, 2))
    assert x.size() == (2, 3)
    assert x.size(-1) == 3
    assert x.to_device(x.device) is x
    with pytest.raises(BufferError, match="stream"):
        x.to_device(x.device, stream=1)
    with pytest.raises(AxisError):
        x.size(5)
    assert copy.copy(x).shape == (2, 3)
