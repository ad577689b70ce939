"""The kernel of a LOOP or SCAN, which walks its steps in order and carries the states.

Where the body works element by element, each element of the state is a register and its own loop:

    for i:  s = initial[i];  for t:  out[t, i], s = body(s, t, i);  final[i] = s

Where a step reads a state at other positions, the state is an array, and a step has two phases:

    for i:  state[i] = initial[i]
    for t:  for i:  next[i] = body(state, t, i)
            for i:  state[i] = next[i]

A state that only changes at some positions is written there and nowhere else:

    for t:  new = value(state, t);  at = position(state, t)
            state[at] = new
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tiny_codegen.buffers import memory_of
from tiny_codegen.kernels.layouts import Layout, row_major
from tiny_codegen.kernels.recurrence import Element, NewMemory, Recurrence, State, Update
from tiny_codegen.kernels.views import TRUE, elements_of, flat_offset
from tiny_ir import (
    DType,
    KernelArg,
    Op,
    RegisterArg,
    Shape,
    UOp,
    const,
    dtypes,
    make,
    simplify,
    size_node,
    toposort,
)


def kernel_of_steps(
    recurrence: Recurrence,
    results: Mapping[int, UOp],
    layouts: Mapping[int, Layout],
    element: Element,
    new_memory: NewMemory,
) -> UOp | None:
    """The kernel of a recurrence; None where it has nothing to do.

    Args:
        recurrence: what to compute.
        results: memory for final states, and after them for outputs, by their numbers.
        layouts: those of outputs that are not kept steps first.
        element: gives the expression of a node at a place.
        new_memory: gives memory for what nobody asks for but the kernel.
    """
    walk = _Walk(recurrence, results, layouts, element, new_memory)
    effects = walk.with_registers() if recurrence.is_pointwise else walk.with_arrays()
    if not effects:
        return None
    name = "scan" if recurrence.outputs else "loop"
    return make(Op.SINK, None, tuple(effects), KernelArg(name))


@dataclass(slots=True)
class _Walk:
    recurrence: Recurrence
    results: Mapping[int, UOp]
    layouts: Mapping[int, Layout]
    element: Element
    new_memory: NewMemory
    registers: int = field(default=0)

    def with_registers(self) -> Sequence[UOp]:
        """One loop over the elements, around one loop over the steps."""
        recurrence = self.recurrence
        states, ranges = recurrence.states, recurrence.states[0].ranges
        if 0 in states[0].shape:
            return []
        loops = _loops(ranges)
        held = [self._register(state.initial.dtype) for state in states]
        starts = [
            register.after(*loops).store(
                self.element(state.initial, recurrence.before(state.initial_ranges))
            )
            for register, state in zip(held, states, strict=True)
        ]
        flag = self._register(dtypes.bool_) if recurrence.is_resumable else None
        if flag is not None:
            starts.append(flag.after(*loops).store(const(dtypes.bool_, True)))
        loaded = [_loaded(register, *starts, recurrence.step) for register in held]
        recurrence.held.update(enumerate(loaded))
        go, effects = self._condition(flag, starts)
        reads = (*loaded, *[effect.src[0].src[1] for effect in effects])
        for register, current, state in zip(held, loaded, states, strict=True):
            following = self.element(state.following, recurrence.inside(state.ranges))
            if go is not None:
                following = go.where(following, current)
            # Every state is read before the first is written.
            effects.append(register.after(*reads).store(following))
        effects += self._stored_outputs()
        end = make(Op.END, None, (*effects, recurrence.step))
        finals = [
            self.results[state.position]
            .index(flat_offset(state.ranges, state.shape))
            .store(_loaded(register, end))
            for register, state in zip(held, states, strict=True)
            if state.position in self.results
        ]
        done = finals or [end]
        return [make(Op.END, None, (*done, *loops))] if loops else done

    def with_arrays(self) -> Sequence[UOp]:
        """One loop over the steps, around loops over the elements that may meet each other."""
        recurrence = self.recurrence
        apart = _loops(recurrence.apart)
        states = [state for state in recurrence.states if 0 not in state.shape]
        memory = {state.position: self._memory(state) for state in recurrence.states}
        starts = [
            self._written(
                memory[state.position],
                state.initial_ranges,
                state.shape,
                self.element(state.initial, recurrence.before(state.initial_ranges)),
            )
            for state in states
        ]
        flag = self._register(dtypes.bool_) if recurrence.is_resumable else None
        if flag is not None:
            starts.append(flag.store(const(dtypes.bool_, True)))
        for position, array in memory.items():
            recurrence.held[position] = array.after(*starts, recurrence.step)
        go, first = self._condition(flag, starts)
        first += self._stored_outputs()
        updates = [state.update for state in states if state.update is not None]
        reads: dict[UOp, None] = {}
        kept = {update: self._kept(update, first, reads, len(states) == 1) for update in updates}
        replaced = {
            state.position: self._computed(state, go, first)
            for state in states
            if state.update is None
        }
        before = (*first, *reads)
        held = {position: array.after(*before) for position, array in recurrence.held.items()}
        second = [
            self._updated(held[state.position], state, kept[state.update], go)
            if state.update is not None
            else self._copied(held[state.position], replaced[state.position], state, first)
            for state in states
        ]
        effects = second or first
        if not effects:
            return []
        return [make(Op.END, None, (*effects, recurrence.step)).end(*apart)]

    def _condition(self, flag: UOp | None, starts: Sequence[UOp]) -> tuple[UOp | None, list[UOp]]:
        """The bool under which the states change in this step, and effects that remember it."""
        recurrence = self.recurrence
        if recurrence.goes_on is None:
            return None, []
        go = self.element(recurrence.goes_on, recurrence.condition_place)
        if flag is None:
            return go, []
        before = _loaded(flag, *starts, recurrence.step)
        go = before & go
        return go, [flag.after(before).store(go)]

    def _computed(self, state: State, go: UOp | None, first: list[UOp]) -> UOp:
        """Compute the next value of a state into memory of its own, in the first phase."""
        recurrence = self.recurrence
        staging = self.new_memory(state.initial.dtype, elements_of(state.shape))
        following = self.element(state.following, recurrence.inside(state.ranges))
        if go is not None:
            current = recurrence.held[state.position]
            following = go.where(following, current.index(flat_offset(state.ranges, state.shape)))
        first.append(self._written(staging, state.ranges, state.shape, following))
        return staging

    def _kept(
        self, update: Update, first: list[UOp], reads: dict[UOp, None], is_alone: bool
    ) -> list[UOp]:
        """New elements and their positions, so that no update changes what another one needs.

        Several elements are kept in memory. One is a value, for which every write waits that it
        has read what it needs; one that sums up elements is kept in a register.
        """
        values = [self.element(*at) for at in self.recurrence.places_of(update)]
        below = toposort(values)
        is_one = not self._inner(update.ranges)
        if is_one and (is_alone or all(node.op is not Op.REDUCE for node in below)):
            if not is_alone:
                reads.update(dict.fromkeys(self._reads(below)))
            return values
        kept: list[tuple[UOp, UOp | None]] = []
        for value, source, ranges in zip(values, update.sources, update.source_ranges, strict=True):
            if not self._inner(ranges):
                register = self._register(value.dtype)
                first.append(register.after(self.recurrence.step).store(value))
                kept.append((register, None))
                continue
            staging = self.new_memory(value.dtype, elements_of(source.shape))
            first.append(self._written(staging, ranges, source.shape, value))
            stored_ranges = update.ranges[: len(source.shape)]
            kept.append((staging, flat_offset(stored_ranges, source.shape)))
        return [
            _loaded(memory, *first) if offset is None else memory.after(*first).index(offset)
            for memory, offset in kept
        ]

    def _reads(self, nodes: Sequence[UOp]) -> list[UOp]:
        """The elements of states that are read among these nodes."""
        states = {memory_of(array) for array in self.recurrence.held.values()}
        written = {node.src[0] for node in nodes if node.op is Op.STORE}
        return [
            node
            for node in nodes
            if node.op is Op.INDEX and memory_of(node) in states and node not in written
        ]

    def _updated(self, memory: UOp, state: State, kept: list[UOp], go: UOp | None) -> UOp:
        """Store the new elements one by one, in the order of their positions."""
        update = state.update
        assert update is not None
        value, *positions = kept
        valid = TRUE if go is None else go
        indices: list[UOp] = []
        for axis, position in enumerate(positions):
            index = simplify(position.cast(dtypes.weakint))
            size = size_node(state.shape[axis])
            valid = valid & simplify(index >= 0) & simplify(index < size)
            indices.append(index)
        at = flat_offset((*indices, *update.ranges[update.depth :]), state.shape)
        address = memory.index(at) if valid is TRUE else memory.index(at, valid)
        if update.combine is not None:
            value = make(update.combine, None, (address, value))
        return address.store(value).end(*self._inner(update.ranges))

    def _stored_outputs(self) -> list[UOp]:
        """Store the outputs of a step."""
        recurrence = self.recurrence
        count = recurrence.step.src[0]
        size = int(count.arg) if count.op is Op.CONST else count
        effects: list[UOp] = []
        for number, (value, ranges) in recurrence.outputs.items():
            if number not in self.results or 0 in value.shape:
                continue
            indices, shape = (recurrence.step, *ranges), (size, *value.shape)
            layout = self.layouts.get(number) or row_major(len(shape))
            offset = layout.offset(indices, shape)
            stored = (
                self.results[number]
                .index(offset)
                .store(self.element(value, recurrence.inside(ranges)))
            )
            effects.append(stored.end(*self._inner(ranges)))
        return effects

    def _copied(self, memory: UOp, staging: UOp, state: State, first: Sequence[UOp]) -> UOp:
        offset = flat_offset(state.copy_ranges, state.shape)
        value = staging.after(*first).index(offset)
        return self._written(memory, state.copy_ranges, state.shape, value)

    def _written(self, memory: UOp, ranges: tuple[UOp, ...], shape: Shape, value: UOp) -> UOp:
        stored = memory.index(flat_offset(ranges, shape)).store(value)
        return stored.end(*self._inner(ranges))

    def _inner(self, ranges: tuple[UOp, ...]) -> tuple[UOp, ...]:
        """Loops over elements inside of the steps."""
        return tuple(axis for axis in _loops(ranges) if axis not in self.recurrence.apart)

    def _memory(self, state: State) -> UOp:
        known = self.results.get(state.position)
        if known is not None:
            return known
        return self.new_memory(state.initial.dtype, elements_of(state.shape))

    def _register(self, dtype: DType) -> UOp:
        self.registers += 1
        return make(Op.REGISTER, dtype, (), RegisterArg(-self.registers, ()))


def _loaded(register: UOp, *after: UOp) -> UOp:
    return make(Op.LOAD, None, (register.after(*after),))


def _loops(ranges: tuple[UOp, ...]) -> tuple[UOp, ...]:
    return tuple(axis for axis in ranges if axis.op is Op.RANGE)
