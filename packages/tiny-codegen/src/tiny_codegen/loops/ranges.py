"""Replaces loop axes of a kernel: the one operation that every loop action is made of."""

from __future__ import annotations

from collections.abc import Sequence

from tiny_codegen.scopes import by_number
from tiny_ir import AxisKind, Op, RangeArg, Size, UOp, make, rebuild, size_node, toposort


def replace_range(root: UOp, old: UOp, value: UOp, axes: Sequence[UOp]) -> UOp:
    """Let `value` stand for the loop variable `old`, and the loops over `axes` for its loop.

    before   END(STORE(INDEX(p, i), x), i)          with i = o*4 + u
    after    END(STORE(INDEX(p, o*4 + u), x), o, u)

    What waits for the loop, as a register does that begins anew in it, waits for those over `axes`.
    """
    done: dict[UOp, UOp] = {old: value}
    for node in toposort((root,)):
        if node in done:
            continue
        if node.op in (Op.END, Op.REDUCE, Op.AFTER) and old in node.src[1:]:
            src = [done[node.src[0]]]
            for source in node.src[1:]:
                src += axes if source is old else (done[source],)
            done[node] = rebuild(node, tuple(src))
        else:
            src_now = tuple([done[source] for source in node.src])
            done[node] = node if src_now == node.src else rebuild(node, src_now)
    return done[root]


def ranges_of(root: UOp) -> list[UOp]:
    """The loop axes of a kernel, in the order of their numbers."""
    return by_number(node for node in toposort((root,)) if node.op is Op.RANGE)


def next_number(root: UOp) -> int:
    """A number that no loop axis of the kernel has."""
    return 1 + max((axis.arg.number for axis in ranges_of(root)), default=-1)


def axis(number: int, size: Size, kind: AxisKind) -> UOp:
    """A loop axis."""
    return make(Op.RANGE, None, (size_node(size),), RangeArg(number, kind))


def with_kind(root: UOp, old: UOp, kind: AxisKind) -> UOp:
    """Walk a loop axis in another way."""
    new = make(Op.RANGE, None, old.src, RangeArg(old.arg.number, kind))
    return replace_range(root, old, new, (new,))


def size_of_axis(range_node: UOp) -> int | None:
    """The number of iterations, None where it is symbolic."""
    size = range_node.src[0]
    return int(size.arg) if size.op is Op.CONST else None
