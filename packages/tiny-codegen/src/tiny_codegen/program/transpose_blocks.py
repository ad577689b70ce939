"""Square blocks of memory that lanes cross are read along memory, and turned in registers.

before   LOAD(INDEX(p, b + IOTA*s)), LOAD(INDEX(p, b + 1 + IOTA*s)), ...   as many as lanes
after    SHUFFLEs of LOAD(INDEX(p, b; lanes)), LOAD(INDEX(p, b + s; lanes)), ...

A block of n * n elements takes n accesses and n * log2(n) shuffles in place of n * n accesses.
Stores are turned likewise.
"""

from __future__ import annotations

from collections.abc import Sequence

from tiny_codegen.buffers import loaded_from, memory_of, stored_to
from tiny_codegen.program.widen_memory import address_of_lanes, lanes_of
from tiny_ir import Op, UOp, make, rebuild, simplify, toposort
from tiny_plugin import Target

_Line = tuple[UOp, UOp, int, int]
"""Memory, the offset without its constant, the step between lanes, the number of lanes."""


def transpose_blocks(sink: UOp, target: Target) -> UOp:
    """Find square blocks among the loads and among the stores of one loop."""
    nodes = toposort((sink,))
    loaded, stored = set(loaded_from(nodes)), set(stored_to(nodes))
    crossed = [node for node in nodes if _is_crossed(node)]
    if not crossed:
        return sink
    read = _blocks([n for n in crossed if n.op is Op.LOAD and memory_of(n.src[0]) not in stored])
    starts = {load: block for block in read for load in block}
    done: dict[UOp, UOp] = {}
    for node in nodes:
        if node in done:
            continue
        src = tuple([done[source] for source in node.src])
        if node in starts:
            block = starts[node]
            base, step, lanes = _line_of(node, block)
            memory = done[node.src[0].src[0]]
            rows = [
                make(Op.LOAD, None, (address_of_lanes(memory, base + lane * step, lanes),))
                for lane in range(lanes)
            ]
            done.update(zip(block, transposed(rows), strict=True))
        elif node.op in (Op.END, Op.SINK):
            done[node] = rebuild(node, _with_turned_stores(node, src, loaded))
        else:
            done[node] = node if src == node.src else rebuild(node, src)
    return done[sink]


def _with_turned_stores(node: UOp, src: Sequence[UOp], loaded: set[UOp]) -> tuple[UOp, ...]:
    """The effects of a loop with each block of stores in place of its first."""
    stores = [
        s
        for s in node.src
        if s.op is Op.STORE and _is_crossed(s) and memory_of(s.src[0]) not in loaded
    ]
    now = dict(zip(node.src, src, strict=True))
    turned: dict[UOp, list[UOp]] = {}
    for block in _blocks([store for store in stores if _is_apart(store, node.src)]):
        base, step, lanes = _line_of(block[0], block)
        memory = now[block[0]].src[0].src[0]
        rows = transposed([_wide(now[store].src[1], lanes) for store in block])
        turned.update({store: [] for store in block})
        turned[block[0]] = [
            make(Op.STORE, None, (address_of_lanes(memory, base + lane * step, lanes), row))
            for lane, row in enumerate(rows)
        ]
    effects: list[UOp] = []
    for source in node.src:
        effects += turned.get(source, [now[source]])
    return tuple(effects)


def _is_apart(store: UOp, effects: Sequence[UOp]) -> bool:
    """Whether no store beside this one writes what it writes, so that their order is free."""
    memory = memory_of(store.src[0])
    others = [s for s in effects if s.op is Op.STORE and memory_of(s.src[0]) is memory]
    if not all(_is_crossed(other) for other in others):
        return False
    lines, constants = zip(*map(_split, others), strict=True)
    return len(set(lines)) == 1 and max(constants) - min(constants) < abs(lines[0][2])


def _wide(value: UOp, lanes: int) -> UOp:
    return value if value.shape else make(Op.SPLAT, None, (value,), lanes)


def _is_crossed(node: UOp) -> bool:
    """Whether a plain access has lanes that lie apart by more than there are lanes."""
    if (node.op is Op.LOAD and len(node.src) > 1) or (node.op is Op.STORE and len(node.src) > 2):
        return False
    if node.op not in (Op.LOAD, Op.STORE) or memory_of(node.src[0]).op is not Op.PARAM:
        return False
    found = lanes_of(node.src[0])
    if found is None or abs(found[1]) < found[2] or found[2].bit_count() != 1:
        return False
    # An offset that waits for effects would have to be moved with them.
    return all(below.op not in (Op.LOAD, Op.AFTER) for below in toposort((found[0],)))


def _split(access: UOp) -> tuple[_Line, int]:
    found = lanes_of(access.src[0])
    assert found is not None
    base, step, lanes = found
    base = simplify(base)
    constant = 0
    if base.op is Op.ADD and base.src[1].op is Op.CONST:
        base, constant = base.src[0], int(base.src[1].arg)
    elif base.op is Op.CONST:
        base, constant = base * 0, int(base.arg)
    return (access.src[0].src[0], simplify(base), step, lanes), constant


def _line_of(access: UOp, block: Sequence[UOp]) -> tuple[UOp, int, int]:
    """The offset at which a block begins, the step between lanes, their number."""
    (_, base, step, lanes), constant = _split(block[0])
    return base + constant, step, lanes


def _blocks(accesses: Sequence[UOp]) -> list[list[UOp]]:
    """Accesses that lie beside each other, as many as each has lanes."""
    lines: dict[_Line, dict[int, UOp]] = {}
    for access in accesses:
        line, constant = _split(access)
        lines.setdefault(line, {}).setdefault(constant, access)
    blocks: list[list[UOp]] = []
    for (_, _, _, lanes), by_constant in lines.items():
        run: list[UOp] = []
        for constant in sorted(by_constant):
            follows = constant - 1 in by_constant
            run = [*run, by_constant[constant]] if follows and run else [by_constant[constant]]
            if len(run) == lanes:
                blocks.append(run)
                run = []
    return blocks


def transposed(rows: Sequence[UOp]) -> list[UOp]:
    """Columns of a square of wide values, by exchanging halves of ever larger groups of lanes.

    Args:
        rows: as many as each has lanes, a power of two.
    """
    lanes = len(rows)
    current = list(rows)
    half = 1
    while half < lanes:
        low = tuple(lane if not lane & half else lanes + lane - half for lane in range(lanes))
        high = tuple(lane + half if not lane & half else lanes + lane for lane in range(lanes))
        for at in range(lanes):
            if not at & half:
                pair = (current[at], current[at + half])
                current[at] = make(Op.SHUFFLE, None, pair, low)
                current[at + half] = make(Op.SHUFFLE, None, pair, high)
        half *= 2
    return current
