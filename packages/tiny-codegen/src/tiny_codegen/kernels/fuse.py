"""Decides which values of a graph get memory of their own; all others are computed where used.

A value is kept in memory where computing it again would cost more than reading it back: a reduction
that is needed at two places, or more often than it has elements, or inside another reduction; and
costly elementwise work that would be repeated. A reduction of a row that only the same row uses is
computed before that row's loop, while the row is in a cache: softmax and norms are one kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tiny_codegen.kernels.places import Place
from tiny_codegen.kernels.views import elements_of
from tiny_ir import ELEMENTWISE, MOVEMENT, Op, UOp

FUNCTION_COST = 16
"""Elementary operations in a typical polynomial for exp, log, sin, ..."""
RANDOM_COST = 64
"""Elementary operations in one THREEFRY: 20 rounds of add, rotate, xor."""
REPEATED_COST = 48
"""A value above this many operations is stored rather than computed at two places."""
INNER_COST = 8
"""A value above this many operations is stored rather than computed several times an element."""
WORK_RATIO = 1.1
"""How much more often than once an element a reduction may be computed."""
FOLD_RATIO = 1.6
"""The same under FOLD, whose edges always ask for a little more than there is."""
FEWEST_ROWS = 32
"""Rows from which on workers are busy where each reduces a row and then uses what it got."""
SHORT_REDUCTION = 1 << 14
"""Terms that one worker combines sooner than another would wake up."""

_FREE = MOVEMENT | {Op.CAST, Op.BITCAST, Op.CONTIGUOUS, Op.DETACH, Op.CONTIGUOUS_BACKWARD}
_COSTLY = {
    *(Op.EXP, Op.EXP2, Op.EXPM1, Op.LOG, Op.LOG2, Op.LOG1P, Op.SIN, Op.COS, Op.TAN),
    *(Op.ASIN, Op.ACOS, Op.ATAN, Op.SINH, Op.COSH, Op.TANH, Op.ERF, Op.POW),
    *(Op.FDIV, Op.SQRT, Op.FLOORDIV, Op.FLOORMOD, Op.CDIV, Op.CMOD),
}
_LEAVES = {Op.CONST, Op.PARAM, Op.AFTER, Op.STATE, Op.RANGE, Op.IOTA, Op.VARIABLE}
ALWAYS_STORED = {Op.CONTIGUOUS, Op.COPY, Op.SCATTER, Op.GET}


@dataclass(frozen=True, slots=True)
class Work:
    """What computing one element takes.

    Attributes:
        operations: elementary operations.
        has_reduction: whether a reduction is in it.
        terms: how many elements the largest reduction in it combines, for all its results.
    """

    operations: int
    has_reduction: bool
    terms: int = 0

    def of_stored(self) -> Work:
        """What using it costs where a reduction in it is stored."""
        return Work(1, False) if self.has_reduction else self


def work_of(node: UOp, sources: Sequence[Work]) -> Work:
    """The work of a node from that of its sources, which is only counted once a use."""
    if node.op is Op.EXPAND and node.shape != node.src[0].shape:
        # What is expanded is stored below if it is costly, so nothing of it is repeated above.
        return Work(0, False)
    if node.op in (Op.REDUCE, Op.FOLD):
        return Work(FUNCTION_COST, True, elements_of(node.src[0].shape))
    if node.op in ALWAYS_STORED or node.op in (Op.AFTER, Op.PARAM, Op.STORE, Op.INDEX):
        return Work(1, False)
    operations = sum(source.operations for source in sources)
    if node.op is Op.THREEFRY:
        operations += RANDOM_COST
    elif node.op in _COSTLY:
        operations += FUNCTION_COST
    elif node.op in ELEMENTWISE and node.op not in _FREE:
        operations += 1
    return Work(
        min(operations, 1 << 20),
        any(source.has_reduction for source in sources),
        max((source.terms for source in sources), default=0),
    )


def is_free(node: UOp) -> bool:
    """Whether a node only says which value is meant, and computes none."""
    return node.op in MOVEMENT or node.op in _LEAVES or node.op is Op.STORE


def is_stored(node: UOp, places: Sequence[Place], work: Work) -> bool:
    """Whether `node`, used at `places`, gets memory of its own."""
    if node.op in ALWAYS_STORED:
        return True
    if is_free(node):
        return False
    elements = max(1, elements_of(node.shape))
    repeats = max(place.iterations for place in places) / elements
    if work.has_reduction:
        if len(places) > 1 or any(place.is_reduced for place in places):
            return True
        if places[0].is_hoisted and elements < FEWEST_ROWS and work.terms > SHORT_REDUCTION:
            return True
        return repeats > (FOLD_RATIO if places[0].is_folded else WORK_RATIO)
    if len(places) > 1 and work.operations > REPEATED_COST:
        return True
    return repeats > 2 and work.operations > INNER_COST
