"""What a graph's results are computed from, and which numbers their gradients will read.

A sum has the same gradient whatever was added; a product does not. So a gradient through
`x * x + y` reads `x`, and nobody has to keep `y`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tiny_ir import MOVEMENT, Op, UOp, is_same_size, product, toposort
from tiny_plugin import record

LINEAR = frozenset(
    (
        *MOVEMENT,
        Op.PARAM,
        Op.CONST,
        Op.ADD,
        Op.SUB,
        Op.NEG,
        Op.CAST,
        Op.COPY,
        Op.CONTIGUOUS,
        Op.CONTIGUOUS_BACKWARD,
        Op.STORE,
        Op.AFTER,
        Op.GET,
    )
)
"""Ops whose gradients read no numbers."""


@record(frozen=True, slots=True)
class Reads:
    """What one effect of a graph is computed from.

    Args:
        slots: those of the PARAMs that it reads.
        marks: the numbers of the marks that it reads.
        reached: the slots that a gradient reaches.
        reached_by_value: those that it reaches from what is written, without what stood there.
        needed: the slots whose numbers a gradient reads on its way.
        parts: the numbers of the other effects that write what a gradient reaches.
        is_reached: whether a gradient reaches any slot or mark.
    """

    slots: frozenset[int]
    marks: frozenset[int]
    reached: frozenset[int]
    reached_by_value: frozenset[int]
    needed: frozenset[int]
    parts: frozenset[int]
    is_reached: bool


def reads_of(graph: UOp) -> tuple[Reads, ...]:
    """What each effect of a SINK reads."""
    nodes = toposort((graph,))
    identified = [node for node in nodes if _is_identified(node)]
    values = dict.fromkeys(effect.src[1] for effect in graph.src)
    bits = {node: 1 << at for at, node in enumerate(dict.fromkeys((*identified, *values)))}
    below = _below(nodes, bits)
    flow = _flow(nodes, bits)

    def found(mask: int) -> list[UOp]:
        return [node for node in identified if mask & bits[node]]

    reads = []
    for at, effect in enumerate(graph.src):
        value = effect.src[1]
        root = value if is_of_whole(effect) else version_of(effect)
        needed, reached = 0, flow[value]
        for node in reached_from(root):
            if node in flow:
                reached |= bits.get(node, 0) if root is not value else 0
                needed |= _needed(node, flow, below) if flow[node] else 0
        reads.append(
            Reads(
                _slots(found(below[value])),
                _marks(found(below[value])),
                _slots(found(reached)),
                _slots(found(flow[value])),
                _slots(found(needed)),
                frozenset(
                    other
                    for other, its in enumerate(graph.src)
                    if other != at and reached & bits[its.src[1]]
                ),
                bool(found(reached)),
            )
        )
    return tuple(reads)


def version_of(effect: UOp) -> UOp:
    """What a write in place leaves behind: an AFTER."""
    return _place_of(effect).after(effect)


def is_of_whole(effect: UOp) -> bool:
    """Whether a STORE writes all of a BUFFER, in its order."""
    rows = effect.src[0]
    size = product(rows.shape)
    while rows.op in (Op.RESHAPE, Op.SHRINK):
        rows = rows.src[0]
    return rows.op not in MOVEMENT and is_same_size(size, rows.shape[0])


def reached_from(value: UOp) -> set[UOp]:
    """The nodes that a gradient of a value reaches."""
    if not value.dtype.is_float:
        return set()
    stack = [value]
    seen = {value}
    while stack:
        node = stack.pop()
        if node.op is Op.DETACH:
            continue
        for source in node.src:
            if source not in seen and _passes(source):
                seen.add(source)
                stack.append(source)
    return seen


def reached_among(roots: Sequence[UOp], nodes: Sequence[UOp]) -> dict[UOp, list[UOp]]:
    """For each root, which of some nodes a gradient of it reaches."""
    bits = {node: 1 << at for at, node in enumerate(nodes)}
    flow = _flow(toposort(roots), bits)
    return {root: [node for node in nodes if flow[root] & bits[node]] for root in roots}


def _passes(node: UOp) -> bool:
    return node.dtype.is_float or not node.dtype.nbytes


def _is_identified(node: UOp) -> bool:
    return node.op is Op.PARAM or (node.op is Op.CONTIGUOUS_BACKWARD and node.arg is not None)


def _place_of(effect: UOp) -> UOp:
    place = effect.src[0]
    while place.op in MOVEMENT:
        place = place.src[0]
    return place


def _slots(nodes: Iterable[UOp]) -> frozenset[int]:
    return frozenset(node.arg.slot for node in nodes if node.op is Op.PARAM)


def _marks(nodes: Iterable[UOp]) -> frozenset[int]:
    return frozenset(node.arg for node in nodes if node.op is not Op.PARAM)


def _below(nodes: Iterable[UOp], bits: Mapping[UOp, int]) -> dict[UOp, int]:
    """Which of the nodes that have bits stand below each node."""
    below: dict[UOp, int] = {}
    for node in nodes:
        below[node] = _union(node.src, below) | bits.get(node, 0)
    return below


def _flow(nodes: Iterable[UOp], bits: Mapping[UOp, int]) -> dict[UOp, int]:
    """Which of them a gradient of each node reaches."""
    flow: dict[UOp, int] = {}
    for node in nodes:
        flow[node] = 0
        if _passes(node):
            flow[node] = bits.get(node, 0)
            if node.op is not Op.DETACH:
                flow[node] |= _union(filter(_passes, node.src), flow)
    return flow


def _needed(node: UOp, flow: Mapping[UOp, int], below: Mapping[UOp, int]) -> int:
    """What the gradient of a node reads."""
    src = node.src
    if node.op in LINEAR:
        return 0
    if node.op is Op.MUL:
        return (below[src[1]] if flow[src[0]] else 0) | (below[src[0]] if flow[src[1]] else 0)
    if node.op is Op.FDIV:
        return below[src[1]] | (below[src[0]] if flow[src[1]] else 0)
    if node.op is Op.WHERE:
        return below[src[0]]
    if node.op is Op.INDEX:
        return _union(src[1:], below)
    if node.op is Op.SCATTER and node.arg in (None, Op.ADD):
        return _union(src[2:], below)
    if node.op is Op.REDUCE and node.arg.op is Op.ADD:
        return 0
    return _union(src, below)


def _union(nodes: Iterable[UOp], masks: Mapping[UOp, int]) -> int:
    union = 0
    for node in nodes:
        union |= masks[node]
    return union
