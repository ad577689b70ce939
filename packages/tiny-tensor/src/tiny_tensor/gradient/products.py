"""Elements along an axis become the products of all the others, without a division."""

from __future__ import annotations

from tiny_ir import UOp, const, dtypes
from tiny_tensor.gradient.rule import spread
from tiny_tensor.methods.scan import at_step, scan


def products_of_others(x: UOp) -> UOp:
    """For each element of the last axis, the product of the others.

    Products of what stands before and of what stands after are multiplied: a quotient of the whole
    product would be wrong where an element is 0.

    Args:
        x: (..., n).

    Returns:
        (..., n), in the same dtype.
    """
    wide = x.cast(dtypes.sum_dtype(x.dtype))
    rank = len(x.shape)
    rows = wide.permute((rank - 1, *range(rank - 1)))
    found = _products_before(rows) * _products_before(rows.flip((0,))).flip((0,))
    return found.permute((*range(1, rank), 0)).cast(x.dtype)


def _products_before(rows: UOp) -> UOp:
    """For each row, the product of all rows before it."""

    def body(step: UOp, states: tuple[UOp, ...]) -> tuple[list[UOp], list[UOp]]:
        (product,) = states
        return [product * at_step(rows, step)], [product]

    one = spread(const(rows.dtype, 1), rows.shape[1:])
    _, (products,) = scan(rows.shape[0], [one], body)
    return products
