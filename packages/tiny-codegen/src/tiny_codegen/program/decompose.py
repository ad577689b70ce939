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

DECOMPOSE = (
    DECOMPOSE_DTYPES + DECOMPOSE_CASTS + DECOMPOSE_MATH + DECOMPOSE_INTEGERS + DECOMPOSE_WORDS
)
