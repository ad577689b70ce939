"""Recurrences as graphs: a body in terms of its step and states becomes a SCAN and its results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tiny_ir import (
    AxisKind,
    LoopArg,
    Op,
    RangeArg,
    Size,
    SizeError,
    StateArg,
    UOp,
    make,
    size_node,
    toposort,
)

FIRST_STEP_NUMBER = 1 << 20
"""Numbers of step RANGEs start here, so that they meet none that a compiler gives out."""
RECURRENCES = (Op.LOOP, Op.SCAN)

Body = Callable[[UOp, tuple[UOp, ...]], tuple[Sequence[UOp], Sequence[UOp]]]
"""From the step and the states to their next values, and to what is stored at each step."""


def scan(
    steps: Size, initial: Sequence[UOp], body: Body, number: int = 0
) -> tuple[tuple[UOp, ...], tuple[UOp, ...]]:
    """Carry states through a body, step by step.

    Args:
        steps: how many.
        initial: the states before the first step.
        body: called once, with the step as a weakint node and the states.
        number: tells recurrences apart where one stands in the body of another.

    Returns:
        The states after the last step, and the stored values with the steps as first axis.
    """
    arg = RangeArg(FIRST_STEP_NUMBER + number, AxisKind.SERIAL)
    step = make(Op.RANGE, None, (size_node(steps),), arg)
    states = tuple(
        make(Op.STATE, first.dtype, (), StateArg(number, position, _numbers(first)))
        for position, first in enumerate(initial)
    )
    following, outputs = body(step, states)
    loop = LoopArg(number, len(states), len(outputs), False)
    node = make(Op.SCAN, None, (step, *initial, *following, *outputs), loop)
    results = tuple(
        make(Op.GET, value.dtype, (node,), position)
        for position, value in enumerate((*initial, *outputs))
    )
    return results[: len(states)], results[len(states) :]


def _numbers(state: UOp) -> tuple[int, ...]:
    sizes = tuple(size for size in state.shape if isinstance(size, int))
    if len(sizes) < len(state.shape):
        raise SizeError(
            f"a recurrence cannot carry a state of shape {state.shape}.",
            why="the sizes of a state are numbers.",
            fix="carry the largest one, and take a part of it afterwards.",
        )
    return sizes


def at_step(node: UOp, step: UOp) -> UOp:
    """The part of a node at a position of its first axis, which is gone then."""
    rest = node.shape[1:]
    begins = (step, *(size_node(0) for _ in rest))
    part = make(Op.SHRINK, None, (node, *begins, size_node(1), *map(size_node, rest)))
    return part.reshape(rest)


def unused_number(nodes: Iterable[UOp]) -> int:
    """A number that no recurrence below the nodes has."""
    numbers = [node.arg.number for node in toposort(nodes) if node.op in (*RECURRENCES, Op.STATE)]
    return 1 + max(numbers, default=-1)


def carried_nodes(nodes: Iterable[UOp]) -> frozenset[UOp]:
    """Nodes, among those given with sources before users, that change from step to step."""
    free: dict[UOp, frozenset[int]] = {}
    for node in nodes:
        around: frozenset[int] = frozenset().union(*(free[source] for source in node.src))
        if node.op is Op.STATE:
            around |= {node.arg.number}
        elif node.op is Op.RANGE:
            around |= {node.arg.number - FIRST_STEP_NUMBER}
        elif node.op in RECURRENCES:
            around -= {node.arg.number, node.src[0].arg.number - FIRST_STEP_NUMBER}
        free[node] = around
    return frozenset(node for node, around in free.items() if around)
