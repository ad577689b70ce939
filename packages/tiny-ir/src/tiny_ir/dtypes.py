"""The element types: their sizes, their limits, and which type two of them meet in."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

from tiny_ir.errors import DTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Kind = Literal["void", "bool", "int", "uint", "float", "weakint", "weakfloat"]


class DType:
    """One element type. There is one object for each, so types are compared with `is`.

    Attributes:
        name: what the type is called, for example "float8_e4m3".
        kind: the family of the type.
        nbytes: size of one element in memory, in bytes; 0 for void and the weak types.
        bits: width in bits; 1 for bool, 0 for void and the weak types.
        priority: types promote from lower to higher priority.
        exponent_bits: width of the exponent, 0 where the type is not a float.
        mantissa_bits: width of the stored fraction, 0 where the type is not a float.
        bias: what the stored exponent is shifted by.
        format: letter of `struct` that packs one element, "" where struct has none.
        has_infinity: infinity is a value of the type.
        is_fnuz: finite, with one NaN in the place of negative zero.
        minimum: the lowest value, -inf where the type has it.
        maximum: the highest value, inf where the type has it.
        largest: the largest finite value.
        smallest: the smallest value above zero.
        is_bool, is_int, is_unsigned, is_float, is_weak: membership, as plain attributes. bool is
            not an int; weakint is an int and weak; weakfloat is a float and weak.

    Example:
        >>> int8.minimum, int8.maximum, float16.largest, int8.is_int
        (-128, 127, 65504.0, True)
    """

    __slots__ = (
        "bias",
        "bits",
        "exponent_bits",
        "format",
        "has_infinity",
        "is_bool",
        "is_float",
        "is_fnuz",
        "is_int",
        "is_unsigned",
        "is_weak",
        "kind",
        "largest",
        "mantissa_bits",
        "maximum",
        "minimum",
        "name",
        "nbytes",
        "priority",
        "smallest",
    )

    def __init__(
        self,
        name: str,
        kind: Kind,
        nbytes: int,
        priority: int,
        format: str = "",
        *,
        exponent_bits: int = 0,
        mantissa_bits: int = 0,
        has_infinity: bool = False,
        is_fnuz: bool = False,
    ) -> None:
        self.name: Final = name
        self.kind: Final[Kind] = kind
        self.nbytes: Final = nbytes
        self.priority: Final = priority
        self.format: Final = format
        self.exponent_bits: Final = exponent_bits
        self.mantissa_bits: Final = mantissa_bits
        self.has_infinity: Final = has_infinity
        self.is_fnuz: Final = is_fnuz
        self.bits: Final = 1 if kind == "bool" else nbytes * 8
        self.is_bool: Final = kind == "bool"
        self.is_int: Final = kind in ("int", "uint", "weakint")
        self.is_unsigned: Final = kind == "uint"
        self.is_float: Final = kind in ("float", "weakfloat")
        self.is_weak: Final = kind in ("weakint", "weakfloat")
        self.bias: Final = 2 ** (exponent_bits - 1) - (0 if is_fnuz else 1) if exponent_bits else 0
        self.largest: Final[int | float] = self._largest()
        self.smallest: Final[int | float] = (
            math.ldexp(1.0, 1 - self.bias - mantissa_bits) if self.is_float else 1
        )
        self.maximum: Final[int | float] = math.inf if has_infinity else self.largest
        self.minimum: Final[int | float] = self._minimum()

    def _largest(self) -> int | float:
        match self.kind:
            case "bool":
                return True
            case "int":
                return int(2 ** (self.bits - 1) - 1)
            case "uint":
                return int(2**self.bits - 1)
            case "float" | "weakfloat":
                # Without infinity the top exponent holds numbers; in e4m3 its last fraction is NaN.
                top = 2**self.exponent_bits - (2 if self.has_infinity else 1) - self.bias
                last = 2 ** (self.mantissa_bits + 1) - 1
                if not self.has_infinity and not self.is_fnuz:
                    last -= 1
                return math.ldexp(last, top - self.mantissa_bits)
            case "weakint":
                return math.inf
            case "void":
                return 0

    def _minimum(self) -> int | float:
        match self.kind:
            case "int":
                return -int(self.largest) - 1
            case "float" | "weakfloat" | "weakint":
                return -self.maximum
            case "bool":
                return False
            case "uint" | "void":
                return 0

    @property
    def epsilon(self) -> float:
        """The distance from 1.0 to the next value of a float type."""
        return math.ldexp(1.0, -self.mantissa_bits)

    @property
    def smallest_normal(self) -> float:
        """The smallest positive float that keeps every fraction bit."""
        return math.ldexp(1.0, 1 - self.bias)

    def __repr__(self) -> str:
        return f"dtypes.{self.name}"

    def __str__(self) -> str:
        return self.name

    def __lt__(self, other: DType) -> bool:
        return (self.priority, self.name) < (other.priority, other.name)

    def __reduce__(self) -> tuple[Callable[[str], DType], tuple[str]]:
        return dtype_named, (self.name,)


def _float(
    name: str, nbytes: int, priority: int, format: str, exponent: int, mantissa: int
) -> DType:
    return DType(
        name,
        "float",
        nbytes,
        priority,
        format,
        exponent_bits=exponent,
        mantissa_bits=mantissa,
        has_infinity=name != "float8_e4m3" and not name.endswith("fnuz"),
        is_fnuz=name.endswith("fnuz"),
    )


void = DType("void", "void", 0, -1)
bool_ = DType("bool", "bool", 1, 0, "?")
weakint = DType("weakint", "weakint", 0, 1)
int8 = DType("int8", "int", 1, 2, "b")
uint8 = DType("uint8", "uint", 1, 3, "B")
int16 = DType("int16", "int", 2, 4, "h")
uint16 = DType("uint16", "uint", 2, 5, "H")
int32 = DType("int32", "int", 4, 6, "i")
uint32 = DType("uint32", "uint", 4, 7, "I")
int64 = DType("int64", "int", 8, 8, "q")
uint64 = DType("uint64", "uint", 8, 9, "Q")
weakfloat = DType(
    "weakfloat", "weakfloat", 0, 10, exponent_bits=11, mantissa_bits=52, has_infinity=True
)
float8_e4m3 = _float("float8_e4m3", 1, 11, "", 4, 3)
float8_e5m2 = _float("float8_e5m2", 1, 12, "", 5, 2)
float8_e4m3fnuz = _float("float8_e4m3fnuz", 1, 13, "", 4, 3)
float8_e5m2fnuz = _float("float8_e5m2fnuz", 1, 14, "", 5, 2)
float16 = _float("float16", 2, 15, "e", 5, 10)
bfloat16 = _float("bfloat16", 2, 16, "", 8, 7)
float32 = _float("float32", 4, 17, "f", 8, 23)
float64 = _float("float64", 8, 18, "d", 11, 52)

default_int = int32
default_float = float32

DTYPES: Mapping[str, DType] = MappingProxyType(
    {
        dtype.name: dtype
        for dtype in (
            void,
            bool_,
            weakint,
            int8,
            uint8,
            int16,
            uint16,
            int32,
            uint32,
            int64,
            uint64,
            weakfloat,
            float8_e4m3,
            float8_e5m2,
            float8_e4m3fnuz,
            float8_e5m2fnuz,
            float16,
            bfloat16,
            float32,
            float64,
        )
    }
)

ALIASES: Mapping[str, DType] = MappingProxyType(
    {
        "char": int8,
        "uchar": uint8,
        "short": int16,
        "ushort": uint16,
        "int": int32,
        "uint": uint32,
        "long": int64,
        "ulong": uint64,
        "half": float16,
        "float": float32,
        "double": float64,
        "bf16": bfloat16,
        "fp8e4m3": float8_e4m3,
        "fp8e5m2": float8_e5m2,
        "fp8e4m3fnuz": float8_e4m3fnuz,
        "fp8e5m2fnuz": float8_e5m2fnuz,
    }
)


def dtype_named(name: str) -> DType:
    """Find an element type by its name or by one of its aliases.

    Args:
        name: for example "float32", "half" or "uchar".

    Raises:
        DTypeError: no type has that name.

    Example:
        >>> dtype_named("half")
        dtypes.float16
    """
    found = DTYPES.get(name) or ALIASES.get(name)
    if found is None:
        raise DTypeError(
            f"there is no dtype named {name!r}.",
            why="the name is neither a dtype nor an alias of one.",
            fix=f"use one of {', '.join(DTYPES)}, or an alias: {', '.join(ALIASES)}.",
        )
    return found


# One edge leads to each type that the left one may turn into without being asked.
_EDGES: Mapping[DType, tuple[DType, ...]] = MappingProxyType(
    {
        bool_: (weakint,),
        weakint: (int8, uint8),
        int8: (int16,),
        uint8: (int16, uint16),
        int16: (int32,),
        uint16: (int32, uint32),
        int32: (int64,),
        uint32: (int64, uint64),
        int64: (weakfloat,),
        uint64: (weakfloat,),
        weakfloat: (float8_e4m3, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz),
        float8_e4m3: (float16, bfloat16),
        float8_e5m2: (float16, bfloat16),
        float8_e4m3fnuz: (float16, bfloat16),
        float8_e5m2fnuz: (float16, bfloat16),
        float16: (float32,),
        bfloat16: (float32,),
        float32: (float64,),
        float64: (),
    }
)
_BY_PRIORITY = tuple(sorted(_EDGES))


def _reachable() -> dict[DType, int]:
    """For each type the set of types that it may turn into, one bit for each priority."""
    masks: dict[DType, int] = {}
    for dtype in reversed(_BY_PRIORITY):
        mask = 1 << dtype.priority
        for wider in _EDGES[dtype]:
            mask |= masks[wider]
        masks[dtype] = mask
    return masks


_REACHABLE: Mapping[DType, int] = MappingProxyType(_reachable())


def promote(*dtypes: DType, default_int: DType = int32, default_float: DType = float32) -> DType:
    """Find the type in which values of several types meet: their least upper bound.

    Python numbers are weak: they take part as weakint and weakfloat and give way to any other
    type of their kind. The result is weak only if every argument is; otherwise a result that would
    be weak is the default of its kind. So int64 with uint64 is the default float.

    Args:
        dtypes: one or more types, none of them void.
        default_int: takes the place of weakint.
        default_float: takes the place of weakfloat.

    Raises:
        DTypeError: there are no types, or one of them is void.

    Example:
        >>> promote(int8, uint8), promote(int32, weakfloat), promote(float16, bfloat16)
        (dtypes.int16, dtypes.float32, dtypes.float32)
    """
    if not dtypes or void in dtypes:
        raise DTypeError(
            f"cannot promote ({', '.join(d.name for d in dtypes)}).",
            why="promotion needs at least one type, and effects (void) have no value.",
            fix="pass the dtypes of values only.",
        )
    first = dtypes[0]
    if all(dtype is first for dtype in dtypes):
        return first
    common = -1
    for dtype in dtypes:
        common &= _REACHABLE[dtype]
    # Priorities of _BY_PRIORITY are 0, 1, 2, ...: the lowest bit set is the position.
    found = _BY_PRIORITY[(common & -common).bit_length() - 1]
    if found.is_weak and not all(dtype.is_weak for dtype in dtypes):
        return default_int if found is weakint else default_float
    return found


def sum_dtype(dtype: DType) -> DType:
    """Find the type in which a sum or a product of values is kept.

    bool and signed integers widen to at least int32, unsigned integers to at least uint32, floats
    to at least float32. (The result of a float sum is cast back to its own type.)

    Example:
        >>> sum_dtype(bool_), sum_dtype(uint8), sum_dtype(float16)
        (dtypes.int32, dtypes.uint32, dtypes.float32)
    """
    if dtype.is_weak:
        return dtype
    if dtype.is_unsigned:
        return promote(dtype, uint32)
    return promote(dtype, float32 if dtype.is_float else int32)


def float_dtype(dtype: DType, *, default_float: DType = float32) -> DType:
    """Find the type in which a function such as `exp` gives its result.

    Example:
        >>> float_dtype(int8), float_dtype(float16), float_dtype(weakint)
        (dtypes.float32, dtypes.float16, dtypes.weakfloat)
    """
    if dtype.is_float:
        return dtype
    if dtype is void:
        return promote(dtype)
    return weakfloat if dtype is weakint else default_float


def can_losslessly_cast(source: DType, target: DType) -> bool:
    """Say whether every value of one type is also a value of the other.

    Example:
        >>> can_losslessly_cast(int8, float16), can_losslessly_cast(int32, float32)
        (True, False)
    """
    if source is target:
        return True
    if source is void or target is void or target is bool_:
        return False
    if source.is_bool:
        return True
    if target is weakint:
        return source.is_int
    if source is weakint or (source.is_float and not target.is_float):
        return False
    if not target.is_float:
        return source.minimum >= target.minimum and source.maximum <= target.maximum
    if source.is_int:
        digits = source.bits - (not source.is_unsigned)
        return digits <= target.mantissa_bits + 1 and -source.minimum <= target.largest
    return (
        source.mantissa_bits <= target.mantissa_bits
        and source.largest <= target.largest
        and source.smallest >= target.smallest
        and source.has_infinity <= target.has_infinity
    )
