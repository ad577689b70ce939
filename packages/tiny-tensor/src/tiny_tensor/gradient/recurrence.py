"""Gradients of LOOP and SCAN: a second recurrence that walks the steps backwards.

before   s[t+1], y[t] = body(s[t], x[t], w)
after    ds[t] = d body / d s[t] applied to (ds[t+1], dy[t]), from the last step to the first

What the body reads at each step (`x[t]`) gets a gradient that the second recurrence stores at that
step; what it reads whole (`w`) gets one that is summed up as a state. States that the derivatives
need are computed again and stored by a copy of the first recurrence.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from tiny_ir import (
    GradientError,
    LoopArg,
    Op,
    UOp,
    const,
    dtypes,
    make,
    rebuild,
    simplify,
    toposort,
)
from tiny_plugin import record
from tiny_tensor.gradient.rule import Pairs, zeros
from tiny_tensor.methods.scan import at_step, carried_nodes, scan, unused_number

PASSED = (Op.RESHAPE, Op.EXPAND, Op.PERMUTE)
"""Movement of what a body reads whole is differentiated inside of it, where less is summed."""


class Differentiate(Protocol):
    """`gradients_of`, which this module is a part of."""

    def __call__(
        self, seeds: Mapping[UOp, UOp], targets: Collection[UOp], *, beyond: bool
    ) -> dict[UOp, UOp]: ...


@record(frozen=True, slots=True)
class Parts:
    """The sources of a recurrence by what they are."""

    step: UOp
    initial: tuple[UOp, ...]
    following: tuple[UOp, ...]
    outputs: tuple[UOp, ...]
    states: dict[UOp, int]
    body: list[UOp]
    carried: frozenset[UOp]

    @staticmethod
    def of(node: UOp) -> Parts:
        """Divide the sources."""
        arg: LoopArg = node.arg
        initial = node.src[1 : 1 + arg.states]
        body = node.src[1 + arg.states :]
        nodes = toposort((node.src[0], *body))
        carried = carried_nodes(nodes)
        states = {
            at: at.arg.position
            for at in nodes
            if at.op is Op.STATE and at.arg.number == arg.number and at.dtype.is_float
        }
        return Parts(
            node.src[0],
            initial,
            body[: arg.states],
            body[arg.states : arg.states + arg.outputs],
            states,
            nodes,
            carried,
        )


def recurrence(
    node: UOp,
    arrived: Mapping[int, UOp],
    on_path: Collection[UOp],
    wanted: Collection[UOp],
    differentiate: Differentiate,
) -> Pairs:
    """The gradients of initial states and of all that the body reads.

    Args:
        node: the LOOP or SCAN.
        arrived: the gradients of its results, by their position.
        on_path: the nodes whose gradients somebody needs.
        wanted: those among them that are targets themselves.
        differentiate: applied to the body.

    Raises:
        GradientError: the number of steps depends on the data.
    """
    if node.arg.conditional:
        raise GradientError(
            "cannot differentiate a loop that ends when a condition fails.",
            why="its steps would have to be walked backwards, and their number is not known.",
            fix="loop a counted number of times, or detach() the result.",
        )
    parts = Parts.of(node)
    reads = _reads(parts, on_path, wanted)
    number = unused_number((node, *arrived.values()))
    steps = parts.step.src[0]

    whole = [read for read in reads if read not in parts.carried]
    by_step = [read for read in reads if read in parts.carried]
    targets = (*parts.states, *reads)
    floats = [at for at, value in enumerate(parts.initial) if value.dtype.is_float]
    first = [
        arrived[at] if at in arrived else zeros(parts.initial[at].shape, parts.initial[at])
        for at in floats
    ]
    sums = [zeros(read.shape, const(dtypes.sum_dtype(read.dtype), 0)) for read in whole]
    recorded: dict[UOp, UOp] = {}

    def body(back: UOp, adjoints: tuple[UOp, ...]) -> tuple[list[UOp], list[UOp]]:
        step = steps - 1 - back
        seeds: dict[UOp, UOp] = {}

        def seed(value: UOp, gradient: UOp) -> None:
            seeds[value] = seeds[value] + gradient if value in seeds else gradient

        for at, adjoint in zip(floats, adjoints, strict=False):
            seed(parts.following[at], adjoint)
        for at, value in enumerate(parts.outputs):
            if len(parts.initial) + at in arrived:
                seed(value, at_step(arrived[len(parts.initial) + at], step))
        found = differentiate(seeds, targets, beyond=False)

        def gradient_of(target: UOp) -> UOp:
            return found[target] if target in found else zeros(target.shape, target)

        by_position = {position: state for state, position in parts.states.items()}
        following = [
            gradient_of(by_position[at])
            if at in by_position
            else zeros(parts.initial[at].shape, parts.initial[at])
            for at in floats
        ]
        added = [
            total + gradient_of(read).cast(total.dtype)
            for total, read in zip(adjoints[len(floats) :], whole, strict=True)
        ]
        stored = [gradient_of(read) for read in by_step]
        stored += [position for read in by_step for position in _positions(read)]
        everything = (*following, *added, *stored)
        replaced = _in_terms_of_step(everything, parts, node, step, recorded)
        return list(replaced[: len(first) + len(sums)]), list(replaced[len(first) + len(sums) :])

    finals, outputs = scan(_size(steps), [*first, *sums], body, number)
    for at, final in zip(floats, finals, strict=False):
        yield parts.initial[at], final
    for read, total in zip(whole, finals[len(floats) :], strict=True):
        yield read, total.cast(read.dtype)
    rest = iter(outputs[len(by_step) :])
    for read, gradients in zip(by_step, outputs, strict=False):
        positions = [next(rest) for _ in _positions(read)]
        yield _placed(read, gradients, positions, steps)


def _reads(parts: Parts, on_path: Collection[UOp], wanted: Collection[UOp]) -> list[UOp]:
    """What the body reads from outside: whole nodes, and parts of nodes at computed places."""
    found: dict[UOp, None] = {}
    stack = [node for node in (*parts.following, *parts.outputs) if node in on_path]
    seen = set(stack)
    while stack:
        node = stack.pop()
        is_part = (
            node in parts.carried
            and node.op in (Op.SHRINK, Op.INDEX)
            and node.src[0] not in parts.carried
        )
        is_whole = node not in parts.carried and (node.op not in PASSED or node in wanted)
        if is_part or is_whole:
            found[node] = None
            continue
        for source in node.src:
            if source in on_path and source not in seen and source.dtype.is_float:
                seen.add(source)
                stack.append(source)
    order = {node: at for at, node in enumerate(parts.body)}
    return sorted(found, key=order.__getitem__)


def _positions(read: UOp) -> list[UOp]:
    """Where in its source a part of a step lies: one value for each axis that moves with steps."""
    if read.op is Op.INDEX:
        return list(read.src[1:])
    rank = len(read.shape)
    return [
        begin.cast(dtypes.int64)
        for begin, size in zip(read.src[1 : 1 + rank], read.shape, strict=True)
        if begin.op is not Op.CONST and size == 1
    ]


def _placed(read: UOp, gradients: UOp, positions: Sequence[UOp], steps: UOp) -> tuple[UOp, UOp]:
    """Put the gradients of all steps, last step first, into the node that was read in parts."""
    source = read.src[0]
    if read.op is Op.INDEX:
        return source, _placed_rows(read, gradients, positions, steps)
    return source, _placed_parts(read, gradients, positions, steps)


def _placed_rows(read: UOp, gradients: UOp, positions: Sequence[UOp], steps: UOp) -> UOp:
    source, *where = read.src
    if len(where) == 1 and not where[0].shape and source.shape[0] == _size(steps):
        ordered = _in_order(where[0], steps, gradients)
        if ordered is not None:
            return ordered
    return _scattered(source, gradients, positions)


def _in_order(position: UOp, steps: UOp, rows: UOp) -> UOp | None:
    """Rows of all steps, last step first, where step and position go together; else None."""
    found = [node for node in toposort((position,)) if node.op is Op.RANGE]
    if len(found) != 1:
        return None
    if position is found[0]:
        return rows.flip((0,))
    return rows if simplify(position + found[0]) is simplify(steps - 1) else None


def _scattered(source: UOp, gradients: UOp, positions: Sequence[UOp]) -> UOp:
    wide = gradients.cast(dtypes.sum_dtype(gradients.dtype))
    base = zeros(source.shape, wide)
    return make(Op.SCATTER, None, (base, wide, *positions), Op.ADD).cast(source.dtype)


def _placed_parts(read: UOp, gradients: UOp, positions: Sequence[UOp], steps: UOp) -> UOp:
    source = read.src[0]
    rank = len(read.shape)
    begins = read.src[1 : 1 + rank]
    moving = [axis for axis, begin in enumerate(begins) if begin.op is not Op.CONST]
    if len(moving) != len(positions):
        raise GradientError(
            "cannot differentiate a loop that reads several rows at a step.",
            why="the rows of different steps overlap.",
            fix="read one row at a step.",
        )
    still = [axis for axis in range(rank) if axis not in moving]
    rows = gradients.reshape((gradients.shape[0], *(read.shape[axis] for axis in still)))
    pairs = [
        (int(begins[axis].arg), source.shape[axis] - int(begins[axis].arg) - read.shape[axis])
        for axis in still
    ]
    rows = rows.pad([(0, 0), *pairs])
    order = (*moving, *still)
    shape = tuple(source.shape[axis] for axis in order)
    back = [order.index(axis) for axis in range(rank)]
    if len(moving) == 1 and shape[0] == _size(steps):
        ordered = _in_order(begins[moving[0]], steps, rows)
        if ordered is not None:
            return ordered.permute(back)
    base = zeros(shape, source)
    return _scattered(base, rows, positions).permute(back)


def _in_terms_of_step(
    values: Sequence[UOp],
    parts: Parts,
    node: UOp,
    step: UOp,
    recorded: dict[UOp, UOp],
) -> list[UOp]:
    """Values of the body at another step, with states taken from where they are recorded."""
    nodes = toposort(values)
    carried = carried_nodes(nodes)
    states = [at for at in nodes if at.op is Op.STATE and at.arg.number == node.arg.number]
    inside = _inside(values, carried)
    states = [state for state in states if state in inside]
    if states:
        recorded |= dict(zip(states, _record(node, states), strict=True))
    done: dict[UOp, UOp] = {parts.step: step}
    done |= {state: at_step(recorded[state], step) for state in states}
    for at in nodes:
        if at in done or at not in inside:
            continue
        src = tuple(done.get(source, source) for source in at.src)
        if src != at.src:
            done[at] = rebuild(at, src)
    return [done.get(value, value) for value in values]


def _inside(values: Iterable[UOp], carried: frozenset[UOp]) -> set[UOp]:
    """The nodes of a body: reached from its values through nodes that change with steps."""
    stack = [value for value in values if value in carried]
    found = set(stack)
    while stack:
        for source in stack.pop().src:
            if source in carried and source not in found:
                found.add(source)
                stack.append(source)
    return found


def _record(node: UOp, states: Sequence[UOp]) -> list[UOp]:
    """The values of states before each step, from a copy of the recurrence that stores them."""
    arg: LoopArg = node.arg
    kept = node.src[: 1 + 2 * arg.states]
    wider = LoopArg(arg.number, arg.states, len(states), False)
    again = make(Op.SCAN, None, (*kept, *states), wider)
    return [make(Op.GET, state.dtype, (again,), arg.states + at) for at, state in enumerate(states)]


def _size(steps: UOp) -> int | UOp:
    return int(steps.arg) if steps.op is Op.CONST else steps
