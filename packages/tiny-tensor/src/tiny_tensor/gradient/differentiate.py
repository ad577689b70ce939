"""A graph becomes the gradients of its root: rules, applied from users to sources."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType

from tiny_ir import GradientError, Op, UOp
from tiny_tensor.gradient.arithmetic import ARITHMETIC_GRADIENTS
from tiny_tensor.gradient.custom import custom, no_gradient_of_call
from tiny_tensor.gradient.functions import FUNCTION_GRADIENTS
from tiny_tensor.gradient.indexing import gather, scatter
from tiny_tensor.gradient.memory import MEMORY_GRADIENTS
from tiny_tensor.gradient.movement import MOVEMENT_GRADIENTS
from tiny_tensor.gradient.recurrence import recurrence
from tiny_tensor.gradient.reductions import reduction
from tiny_tensor.gradient.rule import GradientRule, Pairs, fitted
from tiny_tensor.methods.scan import RECURRENCES

GRADIENTS: Mapping[Op, GradientRule] = MappingProxyType(
    {
        **ARITHMETIC_GRADIENTS,
        **FUNCTION_GRADIENTS,
        **MOVEMENT_GRADIENTS,
        **MEMORY_GRADIENTS,
        Op.REDUCE: reduction,
        Op.INDEX: gather,
        Op.SCATTER: scatter,
        Op.CUSTOM: custom,
    }
)
"""The rule of each op through which a gradient flows."""


Origin = Callable[[UOp], UOp | None]
"""From a BUFFER to the graph that it was computed by, of its shape; None where none is known."""


def no_origin(buffer: UOp) -> UOp | None:
    """Memory is where a graph begins."""
    return None


def gradients_of(
    seeds: Mapping[UOp, UOp],
    targets: Collection[UOp],
    *,
    beyond: bool = True,
    origin: Origin = no_origin,
) -> dict[UOp, UOp]:
    """Differentiate roots with respect to nodes below them.

    Args:
        seeds: the roots, each with the gradient that arrives there, of its shape and dtype.
        targets: the nodes whose gradients are wanted.
        beyond: let gradients flow through targets to others below them.
        origin: what BUFFERs were computed by: gradients flow on into it.

    Returns:
        For each target that a root depends on, its gradient, in its shape and dtype.

    Raises:
        GradientError: an op on the way has no gradient.
    """
    path = path_to(targets, seeds, origin)
    on_path = frozenset(path)
    wanted = frozenset(targets)
    reached: dict[UOp, UOp] = {}
    results: dict[UOp, dict[int, UOp]] = {}

    def add(node: UOp, gradient: UOp) -> None:
        if node in on_path:
            gradient = fitted(gradient, node)
            reached[node] = reached[node] + gradient if node in reached else gradient

    for root, seed in seeds.items():
        add(root, seed)
    for node in reversed(path):
        if not beyond and node in wanted:
            continue
        pairs: Pairs = ()
        if node.op in RECURRENCES:
            if node in results:
                pairs = recurrence(node, results.pop(node), on_path, wanted, gradients_of)
        elif node in reached:
            gradient = reached[node] if node in wanted else reached.pop(node)
            if node.op is Op.GET and node.src[0].op is Op.CALL:
                raise no_gradient_of_call()
            if node.op is Op.GET:
                results.setdefault(node.src[0], {})[node.arg] = gradient
            elif node.op is Op.BUFFER:
                value = origin(node)
                pairs = () if value is None else ((value, gradient),)
            elif node.src:
                pairs = _rule_of(node)(node, gradient)
        for source, part in pairs:
            add(source, part)
    return {target: reached[target] for target in targets if target in reached}


def path_to(
    targets: Collection[UOp], roots: Collection[UOp], origin: Origin = no_origin
) -> list[UOp]:
    """Nodes between targets and roots through which a gradient may flow, sources before users."""
    found: dict[UOp, None] = {}
    wanted = frozenset(targets)
    for node, sources in _sources_first(roots, origin):
        if node in wanted:
            found[node] = None
        elif node.op is not Op.DETACH and (node.dtype.is_float or not node.dtype.nbytes):
            for source in sources:
                if source in found:
                    found[node] = None
                    break
    return list(found)


def _sources_first(roots: Collection[UOp], origin: Origin) -> Iterator[tuple[UOp, tuple[UOp, ...]]]:
    """Every node below the roots with its sources; that of a BUFFER is what it was computed by."""
    sources: dict[UOp, tuple[UOp, ...]] = {}
    stack = list(roots)
    done: set[UOp] = set()
    while stack:
        node = stack[-1]
        if node in done:
            stack.pop()
            continue
        if node not in sources:
            made = origin(node) if node.op is Op.BUFFER else None
            sources[node] = node.src if made is None else (made,)
            stack += sources[node]
            continue
        stack.pop()
        done.add(node)
        yield node, sources[node]


def _rule_of(node: UOp) -> GradientRule:
    rule = GRADIENTS.get(node.op)
    if rule is None:
        raise GradientError(
            f"{node.op.name} has no gradient.",
            why="it stands between the tensor that is differentiated and one of the targets.",
            fix="detach() what comes out of it.",
        )
    return rule
