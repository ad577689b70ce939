"""Writes in place become safe: what would lose a version that is still read gets a copy.

A write `AFTER(old, STORE(view, value))` happens in the memory of `old`. That is right where every
way from what lives to `old` leads through this write; otherwise somebody still wants the old bytes,
and the write goes to a copy of them. So a code generator only has to run a write after what its
value reads, and reads of a version after its write.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tiny_ir import Op, UOp, rebuild, toposort, verify
from tiny_tensor.session import Session
from tiny_tensor.storage import chain_above, over


class Dominators:
    """Through which nodes all ways from the roots to some nodes lead.

    Args:
        roots: where the ways begin.
        targets: the nodes to ask about. What leads to none of them, such as constants that are
            shared by all, is left out.

    Source: the rule of K. Cooper, T. Harvey, K. Kennedy, "A simple, fast dominance algorithm",
    2001; one pass is enough here, since graphs have no cycles.
    """

    def __init__(self, roots: Iterable[UOp], targets: Iterable[UOp]) -> None:
        roots = list(roots)
        order = toposort(roots)
        leading = set(targets)
        for node in order:
            if any(source in leading for source in node.src):
                leading.add(node)
        above: dict[UOp, UOp | None] = dict.fromkeys(roots)
        self._above = above
        self._depth: dict[UOp | None, int] = {None: 0}
        for node in reversed(order):
            if node not in leading:
                continue
            self._depth[node] = 1 + self._depth[above[node]]
            for source in node.src:
                if source in leading:
                    above[source] = self._meet(above[source], node) if source in above else node

    def _meet(self, a: UOp | None, b: UOp | None) -> UOp | None:
        depth, above = self._depth, self._above
        while a is not b:
            if depth[a] >= depth[b] and a is not None:
                a = above[a]
            elif b is not None:
                b = above[b]
        return a

    def dominates(self, upper: UOp, lower: UOp) -> bool:
        """Whether all ways from the roots to `lower` lead through `upper`."""
        depth = self._depth[upper]
        node: UOp | None = lower
        while node is not None and self._depth[node] > depth:
            node = self._above[node]
        return node is upper


def with_safe_writes(
    roots: Sequence[UOp], others: Iterable[UOp], session: Session
) -> dict[UOp, UOp]:
    """Let every write that would lose wanted bytes go to a copy of them.

    Args:
        roots: what will be computed.
        others: what else lives.
        session: where memory comes from.

    Returns:
        For nodes below the roots, the node to compute instead; nothing where there is no write.

    Raises:
        VerificationError: a version comes after several writes.
    """
    order = toposort(roots)
    if all(node.op is not Op.AFTER for node in order):
        return {}
    done: dict[UOp, UOp] = {}
    dominators = None
    for node in order:
        src = tuple([done[source] for source in node.src])
        made = node if src == node.src else rebuild(node, src)
        if node.op is Op.AFTER:
            if len(node.src) > 2:
                verify(node, "graph")  # which refuses it: a version is one write
            if dominators is None:
                versions = [after.src[0] for after in order if after.op is Op.AFTER]
                dominators = Dominators((*roots, *others), versions)
            is_lost = not dominators.dominates(node, node.src[0])
            if is_lost or session.is_shared(made.src[0]):
                made = _on_copy(made, session)
        done[node] = made
    return done


def _on_copy(after: UOp, session: Session) -> UOp:
    """The same write on a copy of the bytes."""
    held, store = after.src
    view, value = store.src
    base = held
    while base.op is not Op.BUFFER:
        base = base.src[0]
    place = session.new_buffer(base.dtype, base.arg.elements, base.arg.device)
    copy = place.after(place.store(held))
    target = copy
    for node in reversed(chain_above(view, held)):
        target = over(node, target)
    return copy.after(target.store(value))
