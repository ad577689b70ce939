"""Writes that go on at many places in turn: the line that each will reach next is fetched early.

before   STORE(INDEX(p, LOAD(INDEX(c, d))), x)
after    STORE(INDEX(p, LOAD(INDEX(c, d))), x); PREFETCH(INDEX(p, ADD(LOAD(INDEX(c, d)), 8)))

where the kernel writes c, too: a counter says where the next element of each kind goes. A core
foresees the lines of a few streams by itself; here every line of p would be waited for.
"""

from __future__ import annotations

from tiny_codegen.buffers import memory_of
from tiny_ir import Op, UOp, make, rebuild, toposort
from tiny_plugin import Target


def foresee_writes(sink: UOp, target: Target) -> UOp:
    """Add a PREFETCH beside each store whose place the kernel itself counts."""
    if not target.cache_nbytes:
        return sink
    nodes = toposort((sink,))
    counters = {memory_of(node.src[0]) for node in nodes if node.op is Op.STORE}
    done: dict[UOp, UOp] = {}
    for node in nodes:
        src = tuple([done[source] for source in node.src])
        if node.op is Op.END:
            fetched = [
                _following_line(effect, target)
                for effect in src
                if _goes_on_at_many_places(effect, counters, target)
            ]
            src = (*fetched, *src)
        done[node] = node if src == node.src else rebuild(node, src)
    return done[sink]


def _goes_on_at_many_places(effect: UOp, counters: set[UOp], target: Target) -> bool:
    if effect.op is not Op.STORE or effect.src[0].op is not Op.INDEX or effect.src[0].shape:
        return False
    memory, offset = memory_of(effect.src[0]), effect.src[0].src[1]
    if memory.op is not Op.PARAM or not target.supports(Op.PREFETCH, memory.dtype):
        return False
    if memory.arg.elements * memory.dtype.nbytes <= target.cache_nbytes[0]:
        return False
    return any(
        node.op is Op.LOAD and node.src[0].op is Op.INDEX and memory_of(node.src[0]) in counters
        for node in toposort((offset,))
    )


def _following_line(store: UOp, target: Target) -> UOp:
    memory, offset = memory_of(store.src[0]), store.src[0].src[1]
    ahead = max(1, target.line_nbytes // memory.dtype.nbytes)
    return make(Op.PREFETCH, None, (memory.index(offset + ahead),))
