"""Lanes of steps in order: states become prefixes, combined lane by lane in doubling distances.

before   s = LOAD(AFTER(r, start, o, l)); STORE(r, ADD(s, x)); STORE(INDEX(p, o*4 + l), ADD(s, x))
after    s = LOAD(AFTER(r, start, o)); STORE(r, ADD(s, t)); STORE(INDEX(p, o*4 + IOTA), ADD(s, y))

where l is walked as SCAN_LANE, y holds for each lane the sum of x up to it, and t the last of these
in every lane. So the register has one state in all lanes, and one ADD a block is all that the next
block waits for. In each doubling, the upper half of a group of lanes takes the total of the lower.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tiny_codegen.buffers import memory_of
from tiny_codegen.prefixes import Prefix, prefixes_along
from tiny_codegen.scopes import scopes_of
from tiny_ir import AxisKind, Op, UOp, const, dtypes, make, rebuild


@dataclass(slots=True)
class ScanLanes:
    """The states that SCAN_LANE axes carry, and what each node becomes that has to do with them.

    Attributes:
        order: the nodes of the kernel; a state comes after what it is combined with.
        owners: for each LOAD of a state the states that are combined together, and their lanes.
        outside: LOADs of what is left of a state after its loop.
        carried: for each LOAD of a state the one before a whole block of steps.
        following: the next values in all lanes, by the node that gave one.
        last: by the STORE of a state what it holds after a block.
    """

    order: list[UOp]
    owners: dict[UOp, tuple[Prefix, int]]
    outside: set[UOp]
    carried: dict[UOp, UOp]
    following: dict[UOp, UOp]
    last: dict[UOp, UOp]

    @staticmethod
    def of(root: UOp, nodes: list[UOp]) -> ScanLanes | None:
        """The states of a kernel; None where no lanes are steps."""
        axes = [n for n in nodes if n.op is Op.RANGE and n.arg.kind is AxisKind.SCAN_LANE]
        if not axes:
            return None
        owners: dict[UOp, tuple[Prefix, int]] = {}
        for axis in axes:
            found = prefixes_along(root, axis)
            assert found is not None, "the action that made these lanes has looked at their states"
            for prefix in found:
                owners.update((load, (prefix, int(axis.src[0].arg))) for load in prefix.loads)
        registers = {memory_of(load.src[0]) for load in owners}
        scopes = scopes_of(nodes)
        outside = {
            node
            for node in nodes
            if node.op is Op.LOAD
            and memory_of(node.src[0]) in registers
            and scopes[node].isdisjoint(axes)
        }
        return ScanLanes(_with_values_first(root, owners), owners, outside, {}, {}, {})

    def combine(self, node: UOp, done: dict[UOp, UOp]) -> bool:
        """Add what a node becomes to `done`, if it has to do with states."""
        if node in self.following:
            done[node] = self.following[node]
        elif node in self.last:
            address = done[node.src[0]]
            done[node] = make(Op.STORE, None, (address, self.last[node]))
        elif node in self.outside:
            wide = rebuild(node, (done[node.src[0]],))
            done[node] = make(Op.EXTRACT, None, (wide,), 0)
        elif node in self.owners:
            if node not in done:
                self._combine_all(*self.owners[node], done)
        elif node.op is Op.AFTER and any(source in self.carried for source in node.src):
            src = [self.carried.get(source) or done[source] for source in node.src]
            done[node] = rebuild(node, tuple(s for s in src if s.op is not Op.IOTA))
        else:
            return False
        return True

    def _combine_all(self, prefix: Prefix, lanes: int, done: dict[UOp, UOp]) -> None:
        """The states of all steps of a block, from those before it and the values of its steps."""
        before = [rebuild(load, (done[load.src[0]],)) for load in prefix.loads]
        values = [_wide(done[value], lanes) for value in prefix.values]
        prefixes = _prefixes(prefix, values, lanes)
        after = prefix.combined(before, prefixes)
        totals = [_lanes_of(value, (lanes - 1,) * lanes) for value in prefixes]
        states = zip(
            prefix.loads, prefix.stores, before, after, prefix.combined(before, totals), strict=True
        )
        for load, store, carried, following, last in states:
            self.carried[load] = carried
            self.following[store.src[1]] = following
            self.last[store] = last
            shifted = (0, *range(lanes, 2 * lanes - 1))
            done[load] = make(Op.SHUFFLE, None, (carried, following), shifted)


def _with_values_first(root: UOp, owners: dict[UOp, tuple[Prefix, int]]) -> list[UOp]:
    """The nodes below a root, sources first; the values of a prefix come before its states."""
    order: list[UOp] = []
    placed: set[UOp] = set()
    stack = [root]
    while stack:
        node = stack[-1]
        if node in placed:
            stack.pop()
            continue
        needed = list(node.src)
        if node in owners:
            prefix = owners[node][0]
            needed += [*prefix.values, *(load.src[0] for load in prefix.loads)]
        missing = [source for source in needed if source not in placed]
        if missing:
            stack += missing
            continue
        stack.pop()
        placed.add(node)
        order.append(node)
    return order


def _prefixes(prefix: Prefix, values: Sequence[UOp], lanes: int) -> list[UOp]:
    """The values of each lane combined with those of all lanes before it."""
    current = list(values)
    half = 1
    while half < lanes:
        upper = [bool(lane & half) for lane in range(lanes)]
        below = tuple(
            lane // half * half - 1 if is_upper else lane for lane, is_upper in enumerate(upper)
        )
        earlier = [_lanes_of(value, below) for value in current]
        mask = make(Op.STACK, None, tuple([const(dtypes.bool_, is_upper) for is_upper in upper]))
        both = prefix.combined(earlier, current)
        current = [mask.where(new, old) for new, old in zip(both, current, strict=True)]
        half *= 2
    return current


def _lanes_of(value: UOp, lanes: tuple[int, ...]) -> UOp:
    return make(Op.SHUFFLE, None, (value,), lanes)


def _wide(value: UOp, lanes: int) -> UOp:
    return value if value.shape else make(Op.SPLAT, None, (value,), lanes)
