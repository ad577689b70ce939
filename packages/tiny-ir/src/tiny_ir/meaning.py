"""What each elementwise op means: the Python function that computes it on single values.

The constant folder, the reference runtime and the law prover all use these functions, so there is
one answer to every question. Values are Python bools, ints and floats that the dtype can hold.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from tiny_ir import dtypes, functions
from tiny_ir.dtypes import DType
from tiny_ir.errors import DTypeError
from tiny_ir.floats import decoder, encoder, int_rounder, rounder, truncated, wrapper
from tiny_ir.op import Op

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Meaning: TypeAlias = "Callable[..., Any]"


def meaning(op: Op, dtype: DType, *sources: DType) -> Meaning:
    """Return the function that computes an op on single values.

    Integers wrap to their own width, floats are rounded to their own type once, and nothing raises.

    Args:
        op: an elementwise op.
        dtype: the dtype of the result.
        sources: the dtypes of the sources. CAST, BITCAST and comparisons need the first one; for
            other ops it is the dtype of the result.

    Returns:
        A function with as many arguments as the op has sources.

    Raises:
        DTypeError: the op is not elementwise, or has no meaning in this dtype.

    Example:
        >>> meaning(Op.ADD, dtypes.uint8)(200, 100), meaning(Op.FLOORDIV, dtypes.int32)(-7, 2)
        (44, -4)
        >>> meaning(Op.CAST, dtypes.uint8, dtypes.float32)(-1.5)
        255
    """
    if op is Op.CAST or op is Op.BITCAST:
        if not sources:
            raise _no_meaning(op, dtype, "it depends on the dtype of its source")
        return (_cast if op is Op.CAST else _bitcast)(dtype, sources[0])
    plain = _PLAIN.get(op)
    if plain is not None:
        return plain
    if dtype.is_float:
        function = _OF_FLOATS.get(op)
        if function is not None:
            return _rounded(op, function, dtype)
    elif has_meaning(op, dtype):
        function = _OF_INTEGERS.get(op)
        if function is not None:
            return _wrapped(op, function, dtype)
    if op is Op.SHL or op is Op.SHR:
        if dtype.is_int:
            return (_shift_left if op is Op.SHL else _shift_right)(dtype)
    elif op is Op.POW and dtype.is_int:
        return _integer_power(dtype)
    elif op is Op.FMA and dtype.is_float:
        return _multiply_add(dtype)
    elif op is Op.THREEFRY and dtype is dtypes.uint64:
        return threefry
    raise _no_meaning(op, dtype, "the op is not elementwise, or not for values of this kind")


def has_meaning(op: Op, dtype: DType) -> bool:
    """Say whether an op whose sources have this dtype computes something.

    bool knows AND, OR, XOR, MAX and MIN only: what a sum of bools is, the caller decides by a cast.

    Example:
        >>> has_meaning(Op.EXP, dtypes.float16), has_meaning(Op.EXP, dtypes.int8)
        (True, False)
    """
    if op in _PLAIN:
        return dtype.kind != "void"
    if op is Op.THREEFRY:
        return dtype is dtypes.uint64
    if dtype.is_float:
        return op in _OF_FLOATS or op is Op.FMA
    if dtype.is_int:
        return op in _OF_INTEGERS or op in (Op.SHL, Op.SHR, Op.POW)
    return dtype.is_bool and op in _OF_BOOLS


def _no_meaning(op: Op, dtype: DType, why: str) -> DTypeError:
    return DTypeError(
        f"{op.name} has no meaning in {dtype.name}.",
        why=f"{why}.",
        fix="cast the sources to a dtype that the op works in, and name the dtypes of the sources.",
    )


# Integers and bool ------------------------------------------------------------------------------


def _floor_divide(a: int, b: int) -> int:
    return a // b if b else 0


def _floor_modulo(a: int, b: int) -> int:
    return a % b if b else 0


def _truncating_divide(a: int, b: int) -> int:
    if not b:
        return 0
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _truncating_modulo(a: int, b: int) -> int:
    if not b:
        return 0
    rest = abs(a) % abs(b)
    return -rest if a < 0 else rest


def _itself(a: Any) -> Any:
    return a


_OF_INTEGERS: Mapping[Op, Meaning] = MappingProxyType(
    {
        Op.NEG: lambda a: -a,
        Op.TRUNC: _itself,
        Op.FLOOR: _itself,
        Op.CEIL: _itself,
        Op.ROUND: _itself,
        Op.ADD: lambda a, b: a + b,
        Op.SUB: lambda a, b: a - b,
        Op.MUL: lambda a, b: a * b,
        Op.FLOORDIV: _floor_divide,
        Op.FLOORMOD: _floor_modulo,
        Op.CDIV: _truncating_divide,
        Op.CMOD: _truncating_modulo,
        Op.MAX: max,
        Op.MIN: min,
        Op.AND: lambda a, b: a & b,
        Op.OR: lambda a, b: a | b,
        Op.XOR: lambda a, b: a ^ b,
        Op.FMA: lambda a, b, c: a * b + c,
    }
)
_CLOSED = frozenset((Op.TRUNC, Op.FLOOR, Op.CEIL, Op.ROUND, Op.MAX, Op.MIN, Op.AND, Op.OR, Op.XOR))
"""Integer ops whose result is in the range of their sources: there is nothing to wrap."""
_OF_BOOLS = frozenset((Op.MAX, Op.MIN, Op.AND, Op.OR, Op.XOR))


def _wrapped(op: Op, function: Meaning, dtype: DType) -> Meaning:
    """Let an integer function wrap its result; in weakint there is no width to wrap at."""
    if op in _CLOSED or dtype is dtypes.weakint:
        return function
    wrapped = wrapper(dtype)
    match op:
        case Op.ADD:
            return lambda a, b: wrapped(a + b)
        case Op.SUB:
            return lambda a, b: wrapped(a - b)
        case Op.MUL:
            return lambda a, b: wrapped(a * b)
        case Op.NEG:
            return lambda a: wrapped(-a)
        case Op.FMA:
            return lambda a, b, c: wrapped(a * b + c)
        case _:
            return lambda a, b: wrapped(function(a, b))


def _shift_left(dtype: DType) -> Meaning:
    wrapped = wrapper(dtype)
    bits = dtype.bits
    if dtype.is_weak:
        return lambda a, count: a << count if count >= 0 else 0
    return lambda a, count: wrapped(a << count) if 0 <= count < bits else 0


def _shift_right(dtype: DType) -> Meaning:
    bits = dtype.bits
    if dtype.is_weak:
        return lambda a, count: a >> count if count >= 0 else -(a < 0)
    return lambda a, count: a >> count if 0 <= count < bits else -(a < 0)


def _integer_power(dtype: DType) -> Meaning:
    """Integers to a power wrap; a negative power is the reciprocal without its fraction."""
    wrapped = wrapper(dtype)
    modulus = None if dtype.is_weak else 1 << dtype.bits

    def power(a: int, b: int) -> int:
        if b >= 0:
            return wrapped(pow(a, b, modulus))
        if a == 1 or a == -1:
            return a if b % 2 else 1
        return 0

    return power


_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_WORD = 0xFFFFFFFF


def threefry(counter: int, key: int) -> int:
    """Give 64 random bits: Threefry with two words of 32 bits and 20 rounds.

    Args:
        counter: a uint64, whose low half is the first word.
        key: a uint64, whose low half is the first word.

    Returns:
        A uint64, whose low half is the first word.

    Source:
        J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.

    Example:
        >>> hex(threefry(0, 0))
        '0x99ba4efe6b200159'
    """
    keys = (key & _WORD, key >> 32, (key & _WORD) ^ (key >> 32) ^ _PARITY)
    x = ((counter & _WORD) + keys[0]) & _WORD
    y = ((counter >> 32) + keys[1]) & _WORD
    for block in range(5):
        for distance in _ROTATIONS[block % 2]:
            x = (x + y) & _WORD
            y = ((y << distance | y >> (32 - distance)) & _WORD) ^ x
        x = (x + keys[(block + 1) % 3]) & _WORD
        y = (y + keys[(block + 2) % 3] + block + 1) & _WORD
    return y << 32 | x


# Floats -----------------------------------------------------------------------------------------

_OF_FLOATS: Mapping[Op, Meaning] = MappingProxyType(
    {
        Op.NEG: lambda a: -a,
        Op.SQRT: functions.sqrt,
        Op.TRUNC: functions.trunc,
        Op.FLOOR: functions.floor,
        Op.CEIL: functions.ceil,
        Op.ROUND: functions.half_even,
        Op.EXP: functions.exp,
        Op.EXP2: functions.exp2,
        Op.EXPM1: functions.expm1,
        Op.LOG: functions.log,
        Op.LOG2: functions.log2,
        Op.LOG1P: functions.log1p,
        Op.SIN: functions.sin,
        Op.COS: functions.cos,
        Op.TAN: functions.tan,
        Op.ASIN: functions.asin,
        Op.ACOS: functions.acos,
        Op.ATAN: functions.atan,
        Op.SINH: functions.sinh,
        Op.COSH: functions.cosh,
        Op.TANH: functions.tanh,
        Op.ERF: functions.erf,
        Op.ADD: lambda a, b: a + b,
        Op.SUB: lambda a, b: a - b,
        Op.MUL: lambda a, b: a * b,
        Op.FDIV: functions.divide,
        Op.MAX: functions.maximum,
        Op.MIN: functions.minimum,
        Op.POW: functions.power,
    }
)


def _rounded(op: Op, function: Meaning, dtype: DType) -> Meaning:
    """Let a function of doubles round its result.

    A double has more than twice the digits of float32, so that rounding twice (to double, then to
    the type) is rounding once for + - * / and sqrt.

    Source:
        S. Figueroa, "When is double rounding innocuous?", SIGNUM Newsletter 30(3), 1995.
    """
    rounded = rounder(dtype)
    match op:
        case Op.ADD:
            return lambda a, b: rounded(a + b)
        case Op.SUB:
            return lambda a, b: rounded(a - b)
        case Op.MUL:
            return lambda a, b: rounded(a * b)
        case Op.NEG:
            return lambda a: rounded(-a)
        case Op.MAX | Op.MIN:
            return function
        case Op.FDIV | Op.POW:
            return lambda a, b: rounded(function(a, b))
        case _:
            return lambda a: rounded(function(a))


def _multiply_add(dtype: DType) -> Meaning:
    rounded = rounder(dtype)
    exact = functions.multiply_add_to_odd
    if dtype.mantissa_bits > dtypes.float32.mantissa_bits:
        exact = functions.multiply_add
    return lambda a, b, c: rounded(exact(a, b, c))


# Any dtype --------------------------------------------------------------------------------------

_PLAIN: Mapping[Op, Meaning] = MappingProxyType(
    {
        Op.CMPLT: lambda a, b: a < b,
        Op.CMPLE: lambda a, b: a <= b,
        Op.CMPEQ: lambda a, b: a == b,
        Op.CMPNE: lambda a, b: a != b,
        Op.WHERE: lambda condition, a, b: a if condition else b,
    }
)


def _cast(dtype: DType, source: DType) -> Meaning:
    """Convert: floats round once; a float becomes an integer through the nearest int64."""
    if dtype is source:
        return _itself
    if dtype.is_float:
        return rounder(dtype) if source.is_float else int_rounder(dtype)
    if dtype.is_bool:
        return lambda a: a != 0
    if dtype.kind == "void" or source.kind == "void":
        raise _no_meaning(Op.CAST, dtype, f"{source.name} does not convert to it")
    wrapped = wrapper(dtype)
    if source.is_float:
        return lambda a: wrapped(truncated(a, dtype))
    # int() turns True into 1.
    return (lambda a: wrapped(int(a))) if source.is_bool else wrapped


def _bitcast(dtype: DType, source: DType) -> Meaning:
    if dtype is source:
        return _itself
    if dtype.nbytes != source.nbytes:
        raise _no_meaning(Op.BITCAST, dtype, f"{source.name} is of another size")
    encode, decode = encoder(source), decoder(dtype)
    return lambda a: decode(encode(a))
