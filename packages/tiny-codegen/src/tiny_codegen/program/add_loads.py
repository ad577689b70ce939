"""Elements of buffers become loads, and the bool of an address becomes a gate.

before   STORE(INDEX(p, i), ADD(INDEX(q, j, valid), 1))
after    STORE(INDEX(p, i), ADD(LOAD(INDEX(q, j), 0, valid), 1))
"""

from __future__ import annotations

from tiny_ir import Op, UOp, const, make, rebuild, toposort
from tiny_plugin import Target


def add_loads(sink: UOp, target: Target) -> UOp:
    """Spell out every read of memory as a LOAD, and gates of stores as their third source."""
    done: dict[UOp, UOp] = {}

    def load(index: UOp) -> UOp:
        address = done[index]
        if len(address.src) == 2:
            return make(Op.LOAD, None, (address,))
        bare = make(Op.INDEX, None, address.src[:2], address.arg)
        return make(Op.LOAD, None, (bare, const(address.dtype, 0), address.src[2]))

    for node in toposort((sink,)):
        first = 1 if node.op is Op.STORE else 0
        src = [done[source] for source in node.src[:first]]
        src += [
            load(source) if source.op is Op.INDEX else done[source] for source in node.src[first:]
        ]
        if node.op is Op.STORE and src[0].op is Op.INDEX and len(src[0].src) == 3:
            address = src[0]
            src = [make(Op.INDEX, None, address.src[:2], address.arg), src[1], address.src[2]]
        done[node] = node if tuple(src) == node.src else rebuild(node, tuple(src))
    return done[sink]
