"""Groups of effects inside loops become effects of the loop.

before   END(SINK(STORE(p, x), STORE(q, y)), i)
after    END(STORE(p, x), STORE(q, y), i)
"""

from __future__ import annotations

from tiny_ir import Op, UOp, make, rebuild, toposort
from tiny_plugin import Target


def flatten_effects(sink: UOp, target: Target) -> UOp:
    """Leave SINK at the root only."""
    done: dict[UOp, UOp] = {}
    for node in toposort((sink,)):
        src: list[UOp] = []
        for source in node.src:
            new = done[source]
            if new.op is Op.SINK and node.op in (Op.END, Op.SINK, Op.AFTER):
                src += new.src
            else:
                src.append(new)
        if tuple(src) == node.src:
            done[node] = node
        elif node.op is Op.SINK:
            done[node] = make(Op.SINK, None, tuple(src), node.arg)
        else:
            done[node] = rebuild(node, tuple(src))
    return done[sink]
