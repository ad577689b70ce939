"""LOOP and SCAN: a kernel that walks the steps in order and carries state from one to the next.

Where the body works element by element, each element of the state is a register and its own loop:

    for i:  s = initial[i];  for t:  out[t, i], s = body(s, t, i);  final[i] = s

Where a step reads the state at other positions, the state is an array, and a step has two phases:

    for i:  state[i] = initial[i]
    for t:  for i:  next[i] = body(state, t, i)
            for i:  state[i] = next[i]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from tiny_ir import (
    ELEMENTWISE,
    AxisKind,
    KernelArg,
    LoopArg,
    Op,
    RegisterArg,
    Shape,
    UOp,
    make,
    toposort,
)

from tiny_codegen.kernels.places import Place
from tiny_codegen.kernels.views import TRUE, flat_offset

NewRanges = Callable[[Shape, AxisKind], tuple[UOp, ...]]
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
class State:
    """One state of a recurrence: its initial and next value, and loops over its elements."""

    position: int
    initial: UOp
    following: UOp
    initial_ranges: tuple[UOp, ...]
    ranges: tuple[UOp, ...]
    copy_ranges: tuple[UOp, ...]

    @property
    def shape(self) -> Shape:
        """Sizes of the state."""
        return self.initial.shape


@dataclass(slots=True)
class Recurrence:
    """A LOOP or SCAN with the loops of its kernel."""

    node: UOp
    states: tuple[State, ...]
    outputs: tuple[tuple[UOp, tuple[UOp, ...]], ...]
    goes_on: UOp | None
    is_elementwise: bool
    staging: dict[int, UOp] = field(default_factory=dict)
    _current: dict[int, UOp] = field(default_factory=dict)

    @staticmethod
    def of(node: UOp, new_ranges: NewRanges) -> Recurrence:
        """Divide the sources of a LOOP or SCAN and give its elements loops."""
        arg: LoopArg = node.arg
        rest = node.src[1:]
        initial, following = rest[: arg.states], rest[arg.states : 2 * arg.states]
        outputs = rest[2 * arg.states : 2 * arg.states + arg.outputs]
        goes_on = rest[-1] if arg.conditional else None
        body = (*following, *outputs) if goes_on is None else (*following, *outputs, goes_on)
        shapes = {value.shape for value in (*initial, *body)}
        is_elementwise = len(shapes) == 1 and _is_elementwise(body, arg.number)
        shared = new_ranges(initial[0].shape, AxisKind.LOOP) if is_elementwise else ()

        def ranges_of(value: UOp) -> tuple[UOp, ...]:
            return shared if is_elementwise else new_ranges(value.shape, AxisKind.LOOP)

        states = tuple(
            State(position, start, after, *(ranges_of(start) for _ in range(3)))
            for position, (start, after) in enumerate(zip(initial, following, strict=True))
        )
        outs = tuple((value, ranges_of(value)) for value in outputs)
        return Recurrence(node, states, outs, goes_on, is_elementwise)

    @property
    def step(self) -> UOp:
        """The loop over the steps."""
        return self.node.src[0]

    def places(self) -> list[tuple[UOp, Place]]:
        """Where the kernel needs initial values, next values and outputs."""
        found = [(state.initial, self._before(state.initial_ranges)) for state in self.states]
        found += [(state.following, self._inside(state.ranges)) for state in self.states]
        found += [(value, self._inside(ranges)) for value, ranges in self.outputs]
        if self.goes_on is not None:
            found.append((self.goes_on, self._condition_place()))
        return found

    def current(self, node: UOp, place: Place) -> UOp:
        """The element of a state at a place in the body."""
        held = self._current[node.arg.position]
        if self.is_elementwise:
            return held
        offset = flat_offset(place.indices, node.shape)
        if place.valid is TRUE:
            return held.index(offset)
        return held.index(offset, place.valid)

    def sink(self, results: dict[int, UOp], element: Element) -> UOp | None:
        """The kernel that writes the final states and outputs in `results`."""
        if any(0 in state.shape for state in self.states):
            return None
        effects = (
            self._with_registers(results, element)
            if self.is_elementwise
            else self._with_arrays(results, element)
        )
        return make(Op.SINK, None, tuple(effects), KernelArg("scan" if self.outputs else "loop"))

    def _with_registers(self, results: dict[int, UOp], element: Element) -> Sequence[UOp]:
        ranges = self.states[0].ranges
        loops = _loops(ranges)
        registers = [
            make(Op.REGISTER, state.initial.dtype, (), RegisterArg(-1 - state.position, ()))
            for state in self.states
        ]
        starts = [
            register.after(*loops).store(element(state.initial, self._before(ranges)))
            for register, state in zip(registers, self.states, strict=True)
        ]
        for register, state in zip(registers, self.states, strict=True):
            held = register.after(*starts, self.step)
            self._current[state.position] = make(Op.LOAD, None, (held,))
        inside = self._inside(ranges)
        loaded = tuple(self._current.values())
        go = element(self.goes_on, inside) if self.goes_on is not None else None
        effects = []
        for register, state in zip(registers, self.states, strict=True):
            following = element(state.following, inside)
            if go is not None:
                following = go.where(following, self._current[state.position])
            # Every state is read before the first is written.
            effects.append(register.after(*loaded).store(following))
        effects += [
            self._output(memory, element(value, inside), value.shape, ranges)
            for value, memory in self._outputs_in(results)
        ]
        end = make(Op.END, None, (*effects, self.step))
        finals = [
            results[state.position]
            .index(flat_offset(ranges, state.shape))
            .store(make(Op.LOAD, None, (register.after(end),)))
            for register, state in zip(registers, self.states, strict=True)
            if state.position in results
        ]
        done = finals or [end]
        return [make(Op.END, None, (*done, *loops))] if loops else done

    def _with_arrays(self, results: dict[int, UOp], element: Element) -> Sequence[UOp]:
        starts = [
            _write(
                results[state.position],
                state.initial_ranges,
                state.shape,
                element(state.initial, self._before(state.initial_ranges)),
            )
            for state in self.states
        ]
        for state in self.states:
            self._current[state.position] = results[state.position].after(*starts, self.step)
        go = None
        if self.goes_on is not None:
            go = element(self.goes_on, self._condition_place())
        first: list[UOp] = []
        for state in self.states:
            following = element(state.following, self._inside(state.ranges))
            if go is not None:
                here = self._current[state.position].index(flat_offset(state.ranges, state.shape))
                following = go.where(following, here)
            first.append(_write(self.staging[state.position], state.ranges, state.shape, following))
        for at, (value, ranges) in enumerate(self.outputs):
            if len(self.states) + at in results:
                memory = results[len(self.states) + at]
                inside = element(value, self._inside(ranges))
                first.append(self._output(memory, inside, value.shape, ranges).end(*_loops(ranges)))
        second = [
            _write(
                results[state.position].after(*first),
                state.copy_ranges,
                state.shape,
                self.staging[state.position]
                .after(*first)
                .index(flat_offset(state.copy_ranges, state.shape)),
            )
            for state in self.states
        ]
        return [make(Op.END, None, (*second, self.step))]

    def _outputs_in(self, results: dict[int, UOp]) -> list[tuple[UOp, UOp]]:
        first = len(self.states)
        return [
            (value, results[first + at])
            for at, (value, _) in enumerate(self.outputs)
            if first + at in results
        ]

    def _output(self, memory: UOp, value: UOp, shape: Shape, ranges: tuple[UOp, ...]) -> UOp:
        steps = self.step.src[0]
        size = int(steps.arg) if steps.op is Op.CONST else steps
        return memory.index(flat_offset((self.step, *ranges), (size, *shape))).store(value)

    def _before(self, ranges: tuple[UOp, ...]) -> Place:
        return Place(self.node, ranges, TRUE, ranges)

    def _inside(self, ranges: tuple[UOp, ...]) -> Place:
        return Place(self.node, ranges, TRUE, (*ranges, self.step))

    def _condition_place(self) -> Place:
        return self._inside(self.states[0].ranges if self.is_elementwise else ())


def _is_elementwise(body: Iterable[UOp], number: int) -> bool:
    """Whether the states are read only at the position that is computed."""
    reaches: dict[UOp, bool] = {}
    for node in toposort(body):
        inside = [source for source in node.src if reaches[source]]
        reaches[node] = bool(inside) or (node.op is Op.STATE and node.arg.number == number)
        if inside and node.op not in ELEMENTWISE:
            return False
    return True


def _write(memory: UOp, ranges: tuple[UOp, ...], shape: Shape, value: UOp) -> UOp:
    return memory.index(flat_offset(ranges, shape)).store(value).end(*_loops(ranges))


def _loops(ranges: tuple[UOp, ...]) -> tuple[UOp, ...]:
    return tuple(axis for axis in ranges if axis.op is Op.RANGE)
