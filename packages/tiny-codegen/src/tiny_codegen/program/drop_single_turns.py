"""Loops that turn once are no loops.

before   END(STORE(INDEX(p, a + i), x), a, i)      a turns once
after    END(STORE(INDEX(p, ADD(0, i)), x), i)

before   REDUCE(x, a; ADD)
after    x
"""

from __future__ import annotations

from tiny_ir import Op, UOp, const, make, rebuild, toposort
from tiny_plugin import Target


def drop_single_turns(sink: UOp, target: Target) -> UOp:
    """Replace the RANGEs of one iteration by 0, and close what they closed without them."""
    nodes = toposort((sink,))
    single = {node for node in nodes if node.op is Op.RANGE and _turns_once(node)}
    if not single:
        return sink
    done = {axis: const(axis.dtype, 0) for axis in single}
    for node in nodes:
        if node in done:
            continue
        kept = node.src
        if node.op in (Op.END, Op.REDUCE, Op.AFTER):
            kept = (node.src[0], *(source for source in node.src[1:] if source not in single))
        src = tuple([done[source] for source in kept])
        if kept is not node.src and not _has_ranges(src):
            done[node] = _without_loops(node, src)
        else:
            done[node] = node if src == node.src else rebuild(node, src)
    return done[sink]


def _turns_once(axis: UOp) -> bool:
    return axis.src[0].op is Op.CONST and axis.src[0].arg == 1


def _has_ranges(src: tuple[UOp, ...]) -> bool:
    return any(source.op is Op.RANGE for source in src)


def _without_loops(node: UOp, src: tuple[UOp, ...]) -> UOp:
    """What is left of an END, REDUCE or AFTER that closes or awaits no loop any more."""
    if node.op is Op.END:
        return src[0] if len(src) == 1 else make(Op.SINK, None, src)
    if node.op is Op.AFTER:
        return src[0] if len(src) == 1 else make(Op.AFTER, None, src)
    return src[0].reduce(node.arg.op, node.arg.axes)
