"""Sizes: an `int`, or a weakint node with proven bounds; compared by proof, never by hope."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, Union

from tiny_ir.errors import SizeError
from tiny_ir.op import Op

if TYPE_CHECKING:
    from tiny_ir.uop import UOp

Size: TypeAlias = Union[int, "UOp"]
Shape: TypeAlias = "tuple[Size, ...]"


def size_of(node: UOp) -> Size:
    """The size that a weakint node stands for: an `int` where it is constant."""
    return int(node.arg) if node.op is Op.CONST else node


def linear_form(size: Size) -> tuple[tuple[tuple[int, int], ...], int]:
    """Write a size as sorted (identity of a term, factor) pairs and a constant.

    Two sizes with one linear form are equal for every value of their variables.
    """
    factors: dict[int, int] = {}
    constant = 0
    stack: list[tuple[Size, int]] = [(size, 1)]
    while stack:
        term, factor = stack.pop()
        if isinstance(term, int):
            constant += factor * term
        elif term.op is Op.CONST:
            constant += factor * int(term.arg)
        elif term.op is Op.ADD:
            stack += [(term.src[0], factor), (term.src[1], factor)]
        elif term.op is Op.SUB:
            stack += [(term.src[0], factor), (term.src[1], -factor)]
        elif term.op is Op.NEG:
            stack.append((term.src[0], -factor))
        elif term.op is Op.MUL and term.src[1].op is Op.CONST:
            stack.append((term.src[0], factor * int(term.src[1].arg)))
        elif term.op is Op.MUL and term.src[0].op is Op.CONST:
            stack.append((term.src[1], factor * int(term.src[0].arg)))
        else:
            factors[id(term)] = factors.get(id(term), 0) + factor
    return tuple(sorted((term, factor) for term, factor in factors.items() if factor)), constant


def is_same_size(a: Size, b: Size) -> bool:
    """Whether two sizes are proven equal."""
    if a is b:
        return True
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    return linear_form(a) == linear_form(b)


def same_size(a: Size, b: Size) -> Size:
    """Return the common size.

    Raises:
        SizeError: the sizes differ, or cannot be proven equal.
    """
    if not is_same_size(a, b):
        raise SizeError(
            f"size {a} is not size {b}.",
            why="the two sizes must be equal for every value of their variables.",
            fix="reshape or slice one side to the size of the other.",
        )
    return a if isinstance(a, int) else b


def is_same_shape(a: Shape, b: Shape) -> bool:
    """Whether two shapes have one rank and sizes that are proven equal."""
    return a == b or (len(a) == len(b) and all(map(is_same_size, a, b)))


def product(sizes: Shape) -> Size:
    """The number of elements of a shape."""
    total: Size = 1
    for size in sizes:
        total = size * total if not isinstance(size, int) else total * size
    return total
