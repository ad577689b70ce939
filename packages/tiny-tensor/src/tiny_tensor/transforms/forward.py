"""A graph becomes its derivative along a direction: rules, applied from sources to users.

For each op that computes element by element the gradient rule says what an element counts, which
is the same in both directions. The other rules stand here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from tiny_ir import ELEMENTWISE, MOVEMENT, GradientError, LoopArg, Op, StateArg, UOp, const, make
from tiny_tensor.gradient.custom import no_gradient_of_call
from tiny_tensor.gradient.differentiate import GRADIENTS, Origin, gradients_of, no_origin
from tiny_tensor.gradient.rule import spread, sum_over, zeros
from tiny_tensor.methods.scan import RECURRENCES
from tiny_tensor.session import current_session
from tiny_tensor.storage import over
from tiny_tensor.transforms.walking import body_of, sources_first
from tiny_tensor.transforms.writes import as_value

Tangent: TypeAlias = UOp | None
"""How fast a node changes, in its shape and dtype; None where it does not."""

OUTSIDE = -1
"""No recurrence has this number: a STATE with it stands for something that is not known yet."""

ForwardRule: TypeAlias = Callable[[UOp, Sequence[Tangent]], UOp]
"""From a node and the tangents of its sources, not all of them None, to the tangent of the node."""


def elementwise(node: UOp, tangents: Sequence[Tangent]) -> UOp:
    """The sum over sources of their tangents times what they count."""
    total: Tangent = None
    for source, tangent in {
        source: tangent
        for source, tangent in zip(node.src, tangents, strict=True)
        if tangent is not None
    }.items():
        if source.shape != node.shape:
            tangent = spread(tangent, node.shape)
        for to, part in GRADIENTS[node.op](node, tangent):
            if to is source:
                total = part if total is None else total + part
    return zeros(node.shape, node) if total is None else total


def cast(node: UOp, tangents: Sequence[Tangent]) -> UOp:
    """Between floats a cast is the identity, up to rounding."""
    return _present(tangents[0]).cast(node.dtype)


def linear(node: UOp, tangents: Sequence[Tangent]) -> UOp:
    """The op itself, of the tangent: it moves elements, or adds them."""
    return over(node, _present(tangents[0]))


def reduction(node: UOp, tangents: Sequence[Tangent]) -> UOp:
    """The tangents of the elements, each times what it counts, added."""
    tangent = _present(tangents[0])
    if node.arg.op is Op.ADD:
        return over(node, tangent)
    ((_, share),) = GRADIENTS[Op.REDUCE](node, _ones(node))
    return sum_over(share * tangent, node.arg.axes)


def gather(node: UOp, tangents: Sequence[Tangent]) -> UOp:
    """What is read is the tangent of the table."""
    return over(node, _present(tangents[0]))


def scatter(node: UOp, tangents: Sequence[Tangent]) -> UOp:
    """Tangents go where the values went."""
    base, value, *positions = node.src
    first = zeros(base.shape, base) if tangents[0] is None else tangents[0]
    second = zeros(value.shape, value) if tangents[1] is None else tangents[1]
    if node.arg not in (None, Op.ADD):
        (_, kept), (_, came) = GRADIENTS[Op.SCATTER](node, _ones(node))
        first, second = first * kept, second * came
        return make(Op.SCATTER, None, (first, second, *positions), Op.ADD)
    return make(Op.SCATTER, None, (first, second, *positions), node.arg)


def custom(node: UOp, tangents: Sequence[Tangent]) -> UOp:
    """What the user's gradient says, which is linear, transposed.

    Raises:
        GradientError: the user's gradient is not linear in what arrives.
    """
    arriving = make(Op.STATE, node.dtype, (), StateArg(OUTSIDE, 0, _numbers(node)))
    seeds: dict[UOp, UOp] = {}
    parts = current_session().custom_gradients.parts(node, arriving)
    for part, tangent in zip(parts, tangents[1:], strict=True):
        if tangent is not None:
            seeds[part] = seeds[part] + tangent if part in seeds else tangent
    found = gradients_of(seeds, (arriving,)).get(arriving)
    result = zeros(node.shape, node) if found is None else found
    if arriving in set(sources_first((result,))):
        raise GradientError(
            "the gradient function of a user function is not linear.",
            why="forward mode transposes it, which needs a sum of products with what arrives.",
            fix="use what arrives only as a factor, or differentiate backwards.",
        )
    return result


def _present(tangent: Tangent) -> UOp:
    assert tangent is not None, "a rule is only applied where its source changes"
    return tangent


def _ones(node: UOp) -> UOp:
    return spread(const(node.dtype, 1), node.shape)


FORWARD: Mapping[Op, ForwardRule] = MappingProxyType(
    {
        **{op: elementwise for op in ELEMENTWISE if op in GRADIENTS},
        **dict.fromkeys((*MOVEMENT, Op.FOLD, Op.CONTIGUOUS, Op.COPY), linear),
        Op.CONTIGUOUS_BACKWARD: lambda node, tangents: _present(tangents[0]),
        Op.CAST: cast,
        Op.REDUCE: reduction,
        Op.INDEX: gather,
        Op.SCATTER: scatter,
        Op.CUSTOM: custom,
    }
)
"""The rule of each op through which a derivative flows forward."""


class Forward:
    """Tangents of nodes, as they are found.

    Args:
        seeds: the tangents of some nodes, in their shapes and dtypes.
        origin: what BUFFERs were computed by: derivatives flow on out of it.
    """

    def __init__(self, seeds: Mapping[UOp, UOp], origin: Origin = no_origin) -> None:
        self._known: dict[UOp, Tangent] = dict(seeds)
        self._origin = origin
        self._results: dict[UOp, dict[int, UOp]] = {}
        """Of each recurrence, the tangents of those results that have some."""

    def tangents_of(self, roots: Sequence[UOp]) -> list[Tangent]:
        """How fast roots change, in their shapes and dtypes.

        Raises:
            GradientError: an op on the way has no derivative.
        """
        for node in sources_first(roots, self._origin):
            if node not in self._known:
                self._known[node] = self._tangent(node)
        return [self._known[root] for root in roots]

    def _tangent(self, node: UOp) -> Tangent:
        op = node.op
        if op is Op.BUFFER:
            made = self._origin(node)
            return None if made is None else self._known[made]
        if op in RECURRENCES:
            self._results[node] = self._recurrence(node)
            return None
        if op is Op.CALL:
            if any(self._known.get(source) is not None for source in node.src):
                raise no_gradient_of_call()
            self._results[node] = {}
            return None
        if op is Op.GET:
            return self._results[node.src[0]].get(node.arg)
        if op is Op.DETACH or not node.dtype.is_float:
            return None
        if op is Op.AFTER:
            return self._after(node)
        tangents = [self._known.get(source) for source in node.src]
        if all(tangent is None for tangent in tangents):
            return None
        rule = FORWARD.get(op)
        if rule is None:
            raise GradientError(
                f"{op.name} has no derivative.",
                why="it stands between a tensor that changes and a result.",
                fix="detach() what comes out of it.",
            )
        return rule(node, tangents)

    def _after(self, node: UOp) -> Tangent:
        """The tangent of memory that was written: that of the value it then has."""
        below = [node.src[0], *(source for effect in node.src[1:] for source in effect.src)]
        if all(self._known[source] is None for source in below):
            return None
        return self.tangents_of((as_value(node),))[0]

    def _recurrence(self, node: UOp) -> dict[int, UOp]:
        """Carry tangents along with the states: those of results by their position."""
        arg: LoopArg = node.arg
        count = arg.states
        initial = node.src[1 : 1 + count]
        following = node.src[1 + count : 1 + 2 * count]
        outputs = node.src[1 + 2 * count : 1 + 2 * count + arg.outputs]
        body = body_of(node)
        moving = [at for at, value in enumerate(initial) if self._known[value] is not None]
        while True:
            states = {
                at: make(
                    Op.STATE,
                    initial[at].dtype,
                    (),
                    StateArg(arg.number, count + position, _numbers(initial[at])),
                )
                for position, at in enumerate(moving)
            }
            self._walk(arg.number, body, states)
            found = [
                at
                for at, value in enumerate(following)
                if at in states or self._known[value] is not None
            ]
            if found == moving:
                break
            moving = found
        stored = [at for at, value in enumerate(outputs) if self._known[value] is not None]
        if not moving and not stored:
            return {}
        wider = LoopArg(arg.number, count + len(moving), arg.outputs + len(stored), arg.conditional)
        sources = (
            node.src[0],
            *initial,
            *(self._or_zeros(initial[at]) for at in moving),
            *following,
            *(self._or_zeros(following[at]) for at in moving),
            *outputs,
            *(self._or_zeros(outputs[at]) for at in stored),
            *node.src[1 + 2 * count + arg.outputs :],
        )
        again = make(node.op if arg.outputs or not stored else Op.SCAN, None, sources, wider)
        places = {at: count + position for position, at in enumerate(moving)}
        first = wider.states + arg.outputs
        places |= {count + at: first + position for position, at in enumerate(stored)}
        values = (*initial, *outputs)
        return {at: make(Op.GET, values[at].dtype, (again,), place) for at, place in places.items()}

    def _walk(self, number: int, body: Sequence[UOp], states: Mapping[int, UOp]) -> None:
        """The tangents of a body, where those of some states are nodes of their own."""
        for node in body:
            if node.op is Op.STATE and node.arg.number == number:
                self._known[node] = states.get(node.arg.position)
            else:
                self._known[node] = self._tangent(node)

    def _or_zeros(self, node: UOp) -> UOp:
        tangent = self._known[node]
        return zeros(node.shape, node) if tangent is None else tangent


def _numbers(node: UOp) -> tuple[int, ...]:
    sizes = tuple(size for size in node.shape if isinstance(size, int))
    assert len(sizes) == len(node.shape), "the sizes of states are numbers"
    return sizes
