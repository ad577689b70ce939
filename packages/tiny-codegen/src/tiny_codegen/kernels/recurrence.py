"""LOOP and SCAN: what they carry from step to step, and where their kernel needs which value."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field

from tiny_codegen.kernels.layouts import without_ones
from tiny_codegen.kernels.places import Place
from tiny_codegen.kernels.rows_apart import are_rows_apart, nodes_of_body
from tiny_codegen.kernels.views import TRUE, ZERO, flat_offset
from tiny_ir import (
    ELEMENTWISE,
    AxisKind,
    DType,
    LoopArg,
    Op,
    Shape,
    UOp,
    toposort,
)

NewRanges = Callable[[Shape, AxisKind], tuple[UOp, ...]]
NewMemory = Callable[[DType, int], UOp]
Element = Callable[[UOp, Place], UOp]


def carried_nodes(nodes: Iterable[UOp]) -> frozenset[UOp]:
    """Nodes whose value changes from step to step of a recurrence around them."""
    free: dict[UOp, frozenset[int]] = {}
    for node in nodes:
        around: frozenset[int] = frozenset().union(*(free[source] for source in node.src))
        if node.op is Op.STATE or (node.op is Op.RANGE and node.arg.kind is AxisKind.SERIAL):
            around |= {node.arg.number}
        elif node.op in (Op.LOOP, Op.SCAN):
            around -= {node.arg.number, node.src[0].arg.number}
        free[node] = around
    return frozenset(node for node, around in free.items() if around)


@dataclass(frozen=True, slots=True)
class Update:
    """A next value that is the state itself but for some elements: a SCATTER into the state.

    Attributes:
        value: what is stored.
        positions: where, one node an axis of the state.
        combine: how a new element is combined with the old one; None where it takes its place.
        source_ranges: for the value and each position loops over its elements.
        ranges: the loops that store; those over positions run in order.
    """

    value: UOp
    positions: tuple[UOp, ...]
    combine: Op | None
    source_ranges: tuple[tuple[UOp, ...], ...]
    ranges: tuple[UOp, ...]

    @property
    def sources(self) -> tuple[UOp, ...]:
        """The new elements, then their positions."""
        return (self.value, *self.positions)

    @property
    def depth(self) -> int:
        """How many axes of `value` count positions."""
        return max(len(position.shape) for position in self.positions)


@dataclass(frozen=True, slots=True)
class State:
    """One state of a recurrence: its initial and next value, and loops over its elements."""

    position: int
    initial: UOp
    following: UOp
    initial_ranges: tuple[UOp, ...]
    ranges: tuple[UOp, ...]
    copy_ranges: tuple[UOp, ...]
    update: Update | None

    @property
    def shape(self) -> Shape:
        """Sizes of the state."""
        return self.initial.shape


@dataclass(slots=True)
class Recurrence:
    """A LOOP or SCAN with the loops of its kernel.

    Attributes:
        node: the LOOP or SCAN.
        states: what it carries.
        outputs: what it stores at each step, by number, each with the loops over its elements.
        goes_on: the bool under which the next step is taken, or None.
        is_pointwise: each element depends on the states at its own position only.
        apart: loops around the steps, over parts of the states that do not depend on each other.
        held: for each state what to read it through, while the kernel is built.
    """

    node: UOp
    states: tuple[State, ...]
    outputs: dict[int, tuple[UOp, tuple[UOp, ...]]]
    goes_on: UOp | None
    is_pointwise: bool
    apart: tuple[UOp, ...]
    held: dict[int, UOp] = field(default_factory=dict)

    @staticmethod
    def of(node: UOp, asked: Container[int], new_ranges: NewRanges) -> Recurrence:
        """Divide the sources of a LOOP or SCAN and give its elements loops.

        Args:
            node: the LOOP or SCAN.
            asked: the numbers of the results that somebody needs.
            new_ranges: gives loops.
        """
        arg: LoopArg = node.arg
        rest = node.src[1:]
        initial, following = rest[: arg.states], rest[arg.states : 2 * arg.states]
        stored = rest[2 * arg.states : 2 * arg.states + arg.outputs]
        outputs = {n: value for n, value in enumerate(stored, arg.states) if n in asked}
        goes_on = rest[-1] if arg.conditional else None
        body = (*following, *outputs.values())
        body = body if goes_on is None else (*body, goes_on)
        shapes = {tuple(without_ones(value.shape)) for value in (*initial, *body)}
        is_pointwise = len(shapes) == 1 and _is_pointwise(body, arg.number)
        apart: tuple[UOp, ...] = ()
        if is_pointwise:
            apart = new_ranges(initial[0].shape, AxisKind.LOOP)
        elif goes_on is None and are_rows_apart(initial, body, arg.number):
            apart = new_ranges(initial[0].shape[:1], AxisKind.LOOP)

        def ranges_of(value: UOp) -> tuple[UOp, ...]:
            if is_pointwise:
                loops = iter([one for one in apart if one.op is Op.RANGE])
                return tuple([next(loops) if without_ones((n,)) else ZERO for n in value.shape])
            return (*apart, *new_ranges(value.shape[len(apart) :], AxisKind.LOOP))

        states = tuple(
            State(
                position,
                start,
                after,
                ranges_of(start),
                ranges_of(start),
                ranges_of(start),
                _update_of(after, arg.number, position, apart, new_ranges),
            )
            for position, (start, after) in enumerate(zip(initial, following, strict=True))
        )
        outs = {number: (value, ranges_of(value)) for number, value in outputs.items()}
        return Recurrence(node, states, outs, goes_on, is_pointwise, apart)

    @property
    def step(self) -> UOp:
        """The loop over the steps."""
        return self.node.src[0]

    @property
    def is_resumable(self) -> bool:
        """Whether the condition could hold again after it failed, though the states stay."""
        return self.goes_on is not None and self.step in toposort((self.goes_on,))

    def places(self) -> list[tuple[UOp, Place]]:
        """Where the kernel needs initial values, next values and outputs."""
        found = [(state.initial, self.before(state.initial_ranges)) for state in self.states]
        for state in self.states:
            if state.update is None:
                found.append((state.following, self.inside(state.ranges)))
            else:
                found += self.places_of(state.update)
        found += [(value, self.inside(ranges)) for value, ranges in self.outputs.values()]
        if self.goes_on is not None:
            found.append((self.goes_on, self.condition_place))
        return found

    def places_of(self, update: Update) -> list[tuple[UOp, Place]]:
        """Where the kernel needs the sources of an update."""
        pairs = zip(update.sources, update.source_ranges, strict=True)
        return [(source, self.inside(ranges)) for source, ranges in pairs]

    def current(self, node: UOp, place: Place) -> UOp:
        """The element of a state at a place in the body."""
        held = self.held[node.arg.position]
        if self.is_pointwise:
            return held
        offset = flat_offset(place.indices, node.shape)
        if place.valid is TRUE:
            return held.index(offset)
        return held.index(offset, place.valid)

    def before(self, ranges: tuple[UOp, ...]) -> Place:
        """A place before the first step."""
        return Place(self.node, ranges, TRUE, ranges)

    def inside(self, ranges: tuple[UOp, ...]) -> Place:
        """A place in the body."""
        return Place(self.node, ranges, TRUE, (*ranges, self.step))

    @property
    def condition_place(self) -> Place:
        """The place of the condition."""
        return self.inside(())


def _update_of(
    following: UOp, number: int, position: int, apart: tuple[UOp, ...], new_ranges: NewRanges
) -> Update | None:
    if following.op is not Op.SCATTER:
        return None
    base, value, *positions = following.src
    if base.op is not Op.STATE or base.arg[:2] != (number, position):
        return None
    depth = max(len(source.shape) for source in positions)
    ranges = (*apart, *new_ranges(value.shape[len(apart) : depth], AxisKind.SERIAL))
    ranges += new_ranges(value.shape[depth:], AxisKind.LOOP)
    sources = tuple(
        (*apart[: len(source.shape)], *new_ranges(source.shape[len(apart) :], AxisKind.LOOP))
        for source in (value, *positions)
    )
    return Update(value, tuple(positions), following.arg, sources, ranges)


def _is_pointwise(body: Sequence[UOp], number: int) -> bool:
    """Whether the states are read only at the position that is computed."""
    reaches: dict[UOp, bool] = {}
    for node in nodes_of_body(body, number):
        inside = [source for source in node.src if reaches.get(source)]
        reaches[node] = bool(inside) or (node.op is Op.STATE and node.arg.number == number)
        if not inside or node.op in ELEMENTWISE or _is_lookup(node, reaches):
            continue
        same = node.op is Op.RESHAPE and without_ones(node.shape) == without_ones(inside[0].shape)
        if not same:
            return False
    return True


def _is_lookup(node: UOp, reaches: dict[UOp, bool]) -> bool:
    """Whether a node reads, for each element of a state, one element of something fixed."""
    if node.op is not Op.INDEX or reaches[node.src[0]]:
        return False
    return all(source.shape in ((), node.shape) for source in node.src[1:])
