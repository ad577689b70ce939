"""Simplification: laws of index expressions, integers, bools and floats, as two sets of rules.

constants.py     what is constant is folded by the meaning of the op
index.py         sums, divisions and comparisons of mathematical integers, in one form
integers.py      laws of integers that wrap
booleans.py      laws of bools and choices
floats.py        the few laws that hold for every float
given.py         what is used only where a condition holds
"""

from __future__ import annotations

from tiny_ir.algebra.booleans import BOOLEAN_RULES, conjuncts
from tiny_ir.algebra.constants import CONSTANT_RULES
from tiny_ir.algebra.floats import FLOAT_RULES
from tiny_ir.algebra.given import gated_rules, simplify_given
from tiny_ir.algebra.index import INDEX_RULES
from tiny_ir.algebra.integers import INTEGER_RULES
from tiny_ir.algebra.order import order_of
from tiny_ir.rewrite import rewrite
from tiny_ir.rule import RuleSet
from tiny_ir.uop import UOp

SIMPLIFY_INDEX = RuleSet((*CONSTANT_RULES, *INDEX_RULES, *BOOLEAN_RULES))
"""For index expressions and masks: sums, divisions, comparisons and choices."""

SIMPLIFY = RuleSet((*CONSTANT_RULES, *INDEX_RULES, *BOOLEAN_RULES, *INTEGER_RULES, *FLOAT_RULES))
"""For whole kernels: every law of every dtype."""

SIMPLIFY_GATED = RuleSet((*gated_rules(SIMPLIFY_INDEX), *SIMPLIFY_INDEX))
"""As SIMPLIFY_INDEX, and each offset under its gate; slower, for one pass over a kernel."""


def simplify(root: UOp) -> UOp:
    """Apply every law below `root`, until none applies.

    Args:
        root: a graph of any level.

    Returns:
        A node of the same dtype and shape, with the same value for every value of its leaves.

    Example:
        >>> from tiny_ir import AxisKind, Op, RangeArg, const, dtypes, make
        >>> i = make(Op.RANGE, None, (const(dtypes.weakint, 24),), RangeArg(0, AxisKind.LOOP))
        >>> simplify(i // 6 * 6 + i % 6) is i
        True
    """
    return rewrite(root, SIMPLIFY)


__all__ = [
    "SIMPLIFY",
    "SIMPLIFY_GATED",
    "SIMPLIFY_INDEX",
    "conjuncts",
    "order_of",
    "simplify",
    "simplify_given",
]
