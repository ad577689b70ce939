"""Random index expressions, and movements as index arithmetic, for the tests of the algebra."""

from __future__ import annotations

import random

from tiny_ir import AxisKind, Op, RangeArg, UOp, VariableArg, const, dtypes, make

weakint = dtypes.weakint
Indices = list[UOp]


def loop(size: int | UOp, number: int = 0) -> UOp:
    """A RANGE."""
    node = size if isinstance(size, UOp) else const(weakint, size)
    return make(Op.RANGE, None, (node,), RangeArg(number, AxisKind.LOOP))


def variable(name: str, low: int, high: int) -> UOp:
    """A named integer with bounds."""
    return make(Op.VARIABLE, weakint, (), VariableArg(name, low, high))


LEAVES = (
    loop(2, 0),
    loop(4, 1),
    loop(6, 2),
    loop(24, 3),
    variable("a", -7, 9),
    variable("n", 1, 5),
)
DIVISORS = (1, 2, 3, 4, 6, 8, 12, 24, -1, -2, -3, 0)


def number(draw: random.Random, depth: int) -> UOp:
    """A weakint expression."""
    if depth == 0 or draw.random() < 0.15:
        constant = const(weakint, draw.randrange(-13, 14))
        return draw.choice(LEAVES) if draw.random() < 0.8 else constant
    x = number(draw, depth - 1)
    c = const(weakint, draw.choice(DIVISORS))
    match draw.randrange(9):
        case 0 | 1 | 2:
            op = draw.choice((Op.ADD, Op.ADD, Op.SUB))
            return make(op, None, (x, number(draw, depth - 1)))
        case 3:
            return make(Op.MUL, None, (x, c) if draw.random() < 0.9 else (c, x))
        case 4 | 5:
            return make(Op.FLOORDIV, None, (x, c))
        case 6 | 7:
            return make(Op.FLOORMOD, None, (x, c))
    op = draw.choice((Op.MAX, Op.MIN, Op.CDIV, Op.CMOD, Op.FLOORDIV, Op.FLOORMOD, Op.MUL))
    return make(op, None, (x, number(draw, depth - 1)))


def condition(draw: random.Random, depth: int) -> UOp:
    """A bool expression of comparisons."""
    if depth and draw.random() < 0.5:
        op = draw.choice((Op.AND, Op.OR, Op.XOR))
        return make(op, None, (condition(draw, depth - 1), condition(draw, depth - 1)))
    if draw.random() < 0.1:
        return condition(draw, depth) ^ True
    op = draw.choice((Op.CMPLT, Op.CMPLE, Op.CMPEQ, Op.CMPNE))
    return make(op, None, (number(draw, 2), number(draw, 2)))


def anything(draw: random.Random) -> UOp:
    """A number, a condition, or a choice."""
    kind = draw.random()
    if kind < 0.5:
        return number(draw, 4)
    if kind < 0.75:
        return condition(draw, 2)
    return condition(draw, 1).where(number(draw, 2), number(draw, 3))


def values(draw: random.Random) -> dict[UOp, int]:
    """A value for each leaf."""
    return {
        leaf: draw.randrange(leaf.src[0].arg)
        if leaf.op is Op.RANGE
        else draw.randint(leaf.arg.minimum, leaf.arg.maximum)
        for leaf in LEAVES
    }


def split_shape(draw: random.Random, elements: int) -> list[int]:
    """A shape of so many elements."""
    sizes = [1] * draw.randrange(1, 5)
    factor = 2
    while elements > 1:
        while elements % factor == 0:
            sizes[draw.randrange(len(sizes))] *= factor
            elements //= factor
        factor += 1
    return [size for size in sizes if size > 1] or [1]


def flat(indices: Indices, shape: list[int]) -> UOp:
    """The row-major offset of an element."""
    total = const(weakint, 0)
    for index, size in zip(indices, shape, strict=True):
        total = total * size + index
    return total


def unflat(offset: UOp, shape: list[int]) -> Indices:
    """The indices of the element at an offset."""
    indices = []
    step = 1
    for size in reversed(shape):
        indices.append((offset // step) % size)
        step *= size
    return indices[::-1]
