"""Whether the rows of what a recurrence carries depend on themselves alone.

Then each row walks all steps before the next one begins: it stays in a cache, and workers can share
the rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from tiny_ir import ELEMENTWISE, Op, UOp, toposort


def are_rows_apart(initial: Sequence[UOp], body: Sequence[UOp], number: int) -> bool:
    """Whether the first axis of all states and outputs counts rows that never meet.

    Args:
        initial: the states before the first step.
        body: their next values and the outputs.
        number: that of the recurrence.
    """
    rows = initial[0].shape[0] if initial[0].shape else None
    if not isinstance(rows, int) or rows < 2:
        return False
    if any(value.shape[:1] != (rows,) for value in (*initial, *body)):
        return False
    carried: set[UOp] = set()
    for node in nodes_of_body(body, number):
        if node.op is Op.STATE and node.arg.number == number:
            carried.add(node)
        elif not carried.isdisjoint(node.src):
            if not _keeps_rows(node, rows, carried):
                return False
            carried.add(node)
    return True


def nodes_of_body(body: Sequence[UOp], number: int) -> list[UOp]:
    """What a body is made of, sources first; what earlier recurrences do inside is left out."""
    earlier = {
        node
        for node in toposort(body)
        if node.op in (Op.LOOP, Op.SCAN) and node.arg.number == number
    }
    inside: list[UOp] = []
    placed: set[UOp] = set(earlier)
    stack = list(reversed(body))
    while stack:
        node = stack[-1]
        missing = [source for source in node.src if source not in placed]
        if node in placed or not missing:
            stack.pop()
            if node not in placed:
                placed.add(node)
                inside.append(node)
        else:
            stack += reversed(missing)
    return inside


def _keeps_rows(node: UOp, rows: int, carried: set[UOp]) -> bool:
    """Whether a row of a node depends on no other row of the states."""
    if node.shape[:1] != (rows,):
        return False
    if node.op in ELEMENTWISE:
        return True
    match node.op:
        case Op.RESHAPE | Op.EXPAND:
            return node.src[0].shape[:1] == (rows,)
        case Op.PERMUTE:
            return bool(node.arg[0] == 0)
        case Op.INDEX:
            table, *positions = node.src
            return table not in carried or _counts_rows(positions[0], rows)
        case Op.SCATTER:
            base, _, *positions = node.src
            return base in carried and _counts_rows(positions[0], rows)
        case _:
            return False


def _counts_rows(node: UOp, rows: int) -> bool:
    """Whether each element of a node is the number of the row that it stands in."""
    while node.shape[:1] == (rows,):
        if node.op is Op.IOTA:
            return True
        if node.op not in (Op.CAST, Op.RESHAPE, Op.EXPAND):
            return False
        if node.op is Op.CAST and not (node.dtype.is_int and rows <= node.dtype.maximum):
            return False
        node = node.src[0]
    return False
