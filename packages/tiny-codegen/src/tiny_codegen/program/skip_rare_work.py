"""What is much work for few values is done only where one of the lanes needs it.

before   WHERE(c, slow(x), fast)
after    LOAD(AFTER(r, END(STORE(r, WHERE(c, slow(x), LOAD(r))), i))), where i is a loop of one turn
         if any lane of c is true, and of none otherwise, and r holds `fast` before it

An example is the sine of large angles. Choices by the same condition share the loop. What the loop
computes is given its arguments in REGISTERs that are read inside, which is what holds it there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from tiny_codegen.program.capabilities import is_total
from tiny_codegen.scopes import Scope, by_number, scopes_of
from tiny_ir import (
    ELEMENTWISE,
    AxisKind,
    Op,
    RangeArg,
    RegisterArg,
    UOp,
    dtypes,
    make,
    rebuild,
    toposort,
)
from tiny_plugin import Target

LEAST_WORK = 48
"""Operations that must be skippable. A branch costs about as much as ten of them, and more where it
is not foreseen."""


@dataclass(frozen=True, slots=True)
class _Group:
    """Choices by one condition at one place, and what only they need where it holds."""

    choices: tuple[UOp, ...]
    work: tuple[UOp, ...]
    inputs: tuple[UOp, ...]
    outer: Scope

    def needed(self) -> Iterable[UOp]:
        """What must be computed before the loop."""
        yield self.choices[0].src[0]
        yield from (choice.src[2] for choice in self.choices)
        yield from self.inputs


def skip_rare_work(sink: UOp, target: Target) -> UOp:
    """Put the rare side of costly choices into loops of at most one turn."""
    if target.form == "loops" or is_total(target):
        return sink
    nodes = toposort((sink,))
    if len(nodes) < LEAST_WORK:
        return sink
    groups = _groups_of(nodes)
    if not groups:
        return sink
    return _rebuilt(sink, nodes, groups)


# Finding ----------------------------------------------------------------------------------------


def _groups_of(nodes: Sequence[UOp]) -> list[_Group]:
    two_sided = [node for node in nodes if node.op is Op.WHERE and _has_two_sides(node)]
    if not two_sided:
        return []
    positions = {node: at for at, node in enumerate(nodes)}
    users: dict[UOp, list[UOp]] = {node: [] for node in nodes}
    for node in nodes:
        for source in node.src:
            users[source].append(node)
    scopes = scopes_of(nodes)
    alike: dict[tuple[UOp, Scope], list[UOp]] = {}
    for node in two_sided:
        alike.setdefault((node.src[0], scopes[node]), []).append(node)
    groups: list[_Group] = []
    group_of: dict[UOp, _Group] = {}
    for (_, scope), choices in alike.items():
        for part in (choices, choices[-1:]):
            work = _only_needed_by(part, positions, users)
            if len(work) < LEAST_WORK:
                break
            group = _group(part, work, positions, scope)
            if not _needs_itself(group, group_of):
                groups.append(group)
                group_of.update(dict.fromkeys(group.choices, group))
                break
    return groups


def _group(
    choices: Sequence[UOp], work: set[UOp], positions: dict[UOp, int], scope: Scope
) -> _Group:
    kept = tuple(choice for choice in choices if choice.src[1] in work)
    ordered = tuple(sorted(work, key=positions.__getitem__))
    inputs = dict.fromkeys(
        source
        for node in ordered
        for source in node.src
        if source not in work and source.op is not Op.CONST
    )
    return _Group(kept, ordered, tuple(inputs), scope)


def _needs_itself(group: _Group, group_of: dict[UOp, _Group]) -> bool:
    """Whether one of the choices is made of another, itself or by way of other groups."""
    waiting = list(group.needed())
    seen: set[UOp] = set()
    while waiting:
        node = waiting.pop()
        if node in group.choices:
            return True
        if node not in seen:
            seen.add(node)
            other = group_of.get(node)
            waiting += node.src if other is None else other.needed()
    return False


def _has_two_sides(choice: UOp) -> bool:
    """Whether lanes choose between values; beside a constant, work is the usual side."""
    condition, _, other = choice.src
    return condition.shape == choice.shape and other.op is not Op.CONST


def _only_needed_by(
    choices: Sequence[UOp], positions: dict[UOp, int], users: dict[UOp, list[UOp]]
) -> set[UOp]:
    """The elementwise nodes that nothing else uses than the first sides of the choices."""
    chosen = set(choices)
    work: set[UOp] = set()
    waiting: list[tuple[int, UOp]] = []
    seen: set[UOp] = set()

    def look_at(node: UOp) -> None:
        if node not in seen and node.op in ELEMENTWISE:
            seen.add(node)
            heappush(waiting, (-positions[node], node))

    for choice in choices:
        look_at(choice.src[1])
    while waiting:  # users before their sources
        _, node = heappop(waiting)
        if all(user in work or _is_first_side(node, user, chosen) for user in users[node]):
            work.add(node)
            for source in node.src:
                look_at(source)
    return work


def _is_first_side(node: UOp, user: UOp, chosen: set[UOp]) -> bool:
    return user in chosen and node is not user.src[0] and node is not user.src[2]


# Rebuilding -------------------------------------------------------------------------------------


def _rebuilt(sink: UOp, nodes: Sequence[UOp], groups: Sequence[_Group]) -> UOp:
    group_of = {choice: group for group in groups for choice in group.choices}
    ranges = [node.arg.number for node in nodes if node.op is Op.RANGE]
    registers = [node.arg.number for node in nodes if node.op is Op.REGISTER]
    numbers = _Numbers(max(ranges, default=-1) + 1, max(registers, default=-1) + 1)
    done: dict[UOp, UOp] = {}
    stack = [sink]
    while stack:
        node = stack[-1]
        if node in done:
            stack.pop()
            continue
        group = group_of.get(node)
        needed = node.src if group is None else (*group.needed(), *group.outer)
        missing = [source for source in needed if source not in done]
        if missing:
            stack += missing
            continue
        stack.pop()
        if group is not None:
            _in_a_loop(group, done, numbers)
        else:
            src = tuple([done[source] for source in node.src])
            done[node] = node if src == node.src else rebuild(node, src)
    return done[sink]


@dataclass(slots=True)
class _Numbers:
    """The next free numbers of loops and registers."""

    loop: int
    register: int

    def register_like(self, node: UOp, shape: tuple[int, ...]) -> UOp:
        """A new REGISTER for values like that of a node."""
        self.register += 1
        return make(Op.REGISTER, node.dtype, (), RegisterArg(self.register - 1, shape))


def _in_a_loop(group: _Group, done: dict[UOp, UOp], numbers: _Numbers) -> None:
    condition = done[group.choices[0].src[0]]
    outer = by_number([done[axis] for axis in group.outer])
    is_needed = condition.reduce(Op.OR, (0,)) if condition.shape else condition
    kind = RangeArg(numbers.loop, AxisKind.SERIAL)
    turn = make(Op.RANGE, None, (is_needed.cast(dtypes.int32),), kind)
    numbers.loop += 1

    def read_inside(value: UOp, like: UOp) -> tuple[UOp, UOp]:
        """A REGISTER that holds a value before the loop, and what it holds in its turn."""
        shape = tuple(int(size) for size in like.shape if isinstance(size, int))
        register = numbers.register_like(value, shape)
        start = register.after(*outer).store(value)
        return register, make(Op.LOAD, None, (register.after(start, turn),))

    inside = {value: read_inside(done[value], value)[1] for value in group.inputs}
    for node in group.work:
        inside[node] = rebuild(node, tuple(inside.get(source, source) for source in node.src))
    held = []
    effects = []
    for choice in group.choices:
        register, current = read_inside(done[choice.src[2]], choice)
        held.append(register)
        effects.append(register.store(condition.where(inside[choice.src[1]], current)))
    end = make(Op.END, None, (*effects, turn))
    for choice, register in zip(group.choices, held, strict=True):
        done[choice] = make(Op.LOAD, None, (register.after(end),))


SKIP_RARE_WORK = skip_rare_work
