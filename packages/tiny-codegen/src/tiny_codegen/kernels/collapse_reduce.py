"""Reductions over an axis that only a comparison looks at become arithmetic.

before   REDUCE(WHERE(CMPEQ(INDEX(idx, i), r), INDEX(x, r), 0), r; ADD)       a one-hot times a table
after    INDEX(x, INDEX(idx, i), 0 <= INDEX(idx, i) < n)                      a load
"""

from __future__ import annotations

from tiny_ir import RuleSet

COLLAPSE_REDUCE = RuleSet(())
