"""Puts the nodes of a kernel in one line: sources before users, each inside exactly its loops.

before   SINK(END(STORE(INDEX(p, i), x), i))
after    RANGE i, INDEX, STORE, END

A value is placed in the outermost loop that it can be in, so what does not change in a loop is
computed before it. An effect stays in its loops, which may turn no time.
"""

from __future__ import annotations

from tiny_codegen.scopes import Scope, by_number, scopes_of
from tiny_ir import Op, UOp, toposort


def linearize(sink: UOp) -> tuple[UOp, ...]:
    """List the nodes of a program-level graph in the order in which they are run."""
    nodes = toposort((sink,))
    scopes = scopes_of(nodes)
    _put_effects_in_their_loops(nodes, scopes)
    depth = _depths(nodes, scopes)
    blocks: dict[UOp | None, list[UOp]] = {None: []}
    for node in nodes:
        if node.op is Op.RANGE:
            blocks.setdefault(node, [])
        if node.op in (Op.RANGE, Op.SINK):
            continue
        scope = scopes[node]
        block = max(scope, key=lambda axis: depth[axis]) if scope else None
        blocks.setdefault(block, []).append(node)
    line: list[UOp] = []
    # An entry is a node to emit, or a loop whose block is to be opened.
    stack: list[tuple[UOp, bool]] = [(node, False) for node in reversed(blocks[None])]
    while stack:
        node, is_open = stack.pop()
        if node.op is Op.RANGE:
            line.append(node)
            stack += [(item, False) for item in reversed(blocks[node])]
        elif node.op is Op.END and not is_open:
            stack.append((node, True))
            axes = by_number(source for source in node.src if source.op is Op.RANGE)
            stack += [(axis, False) for axis in reversed(axes)]
        else:
            line.append(node)
    return tuple(line)


def _put_effects_in_their_loops(nodes: list[UOp], scopes: dict[UOp, Scope]) -> None:
    for node in reversed(nodes):
        if node.op is not Op.END:
            continue
        around = scopes[node].union(source for source in node.src if source.op is Op.RANGE)
        for effect in node.src:
            if effect.op is not Op.RANGE and not around <= scopes[effect]:
                closed = {source for source in effect.src if source.op is Op.RANGE}
                scopes[effect] |= around - closed if effect.op is Op.END else around


def _depths(nodes: list[UOp], scopes: dict[UOp, Scope]) -> dict[UOp, int]:
    """How deeply each loop is nested: inside all loops that are open at its END, in order."""
    depth: dict[UOp, int] = {}
    for node in reversed(nodes):
        if node.op is not Op.END:
            continue
        outer = max((depth[axis] for axis in scopes[node]), default=-1)
        for axis in by_number(source for source in node.src if source.op is Op.RANGE):
            outer += 1
            depth[axis] = outer
    return depth
