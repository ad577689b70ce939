"""What a target lacks is spelled in what it has: dtypes, casts, functions, integers.

before   FLOORDIV(n, 8)      on a machine that shifts, and divides only towards zero
after    SHR(n, 3)

The five sets are one, because each makes what another takes apart: a function of bfloat16 is one of
float32, which is made of shifts, which count below their width.
"""

from __future__ import annotations

from tiny_codegen.program.decompose_casts import DECOMPOSE_CASTS
from tiny_codegen.program.decompose_dtypes import DECOMPOSE_DTYPES
from tiny_codegen.program.decompose_integers import DECOMPOSE_INTEGERS
from tiny_codegen.program.decompose_math import DECOMPOSE_MATH
from tiny_codegen.program.decompose_words import DECOMPOSE_WORDS
from tiny_ir import Op, RuleSet, UOp, dtypes, make, node, rule


@rule(node(Op.AFTER, name="root"))
def what_waits_for_a_value_waits_for_its_loads(root: UOp) -> UOp | None:
    """A write waits for reads; what they read may be put together from several loads now."""
    place, *awaited = root.src
    if all(is_awaited(source) for source in awaited):
        return None
    loads: dict[UOp, None] = {}
    stack = awaited[::-1]
    while stack:
        source = stack.pop()
        if is_awaited(source):
            loads[source] = None
        else:
            stack += source.src[::-1]
    return make(Op.AFTER, None, (place, *loads))


def is_awaited(source: UOp) -> bool:
    """Whether a node is an effect, a loop or a read."""
    return source.dtype is dtypes.void or source.op in (Op.AFTER, Op.RANGE, Op.LOAD)


DECOMPOSE = (
    DECOMPOSE_DTYPES
    + DECOMPOSE_CASTS
    + DECOMPOSE_MATH
    + DECOMPOSE_INTEGERS
    + DECOMPOSE_WORDS
    + RuleSet((what_waits_for_a_value_waits_for_its_loads,))
)
