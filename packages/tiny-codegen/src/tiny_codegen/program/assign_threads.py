"""The axis that is spread over workers becomes the grid of the Program.

before   END(STORE(INDEX(p, t*8 + i), x), t, i)      t walked as THREAD
after    END(STORE(INDEX(p, SPECIAL grid0 * 8 + i), x), i)
"""

from __future__ import annotations

from tiny_ir import AxisKind, Op, UOp, make, rebuild, toposort
from tiny_plugin import Target


def assign_threads(sink: UOp, target: Target) -> UOp:
    """Replace THREAD axes by SPECIAL "grid0", "grid1", ..."""
    done: dict[UOp, UOp] = {}
    count = 0
    for node in toposort((sink,)):
        if node.op is Op.RANGE and node.arg.kind is AxisKind.THREAD:
            done[node] = make(Op.SPECIAL, None, node.src, f"grid{count}")
            count += 1
            continue
        src = tuple([done[source] for source in node.src])
        if node.op in (Op.END, Op.AFTER):
            src = tuple(source for source in src if source.op is not Op.SPECIAL)
        is_open = any(source.op is Op.RANGE for source in src)
        if node.op is Op.END and src != node.src and not is_open:
            done[node] = src[0] if len(src) == 1 else make(Op.SINK, None, src)
            continue
        done[node] = node if src == node.src else rebuild(node, src)
    return done[sink]
