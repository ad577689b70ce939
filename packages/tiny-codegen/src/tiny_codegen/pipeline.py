"""The table of contents: every step from a kernel to a Program, in order, with the reason for its place.

`kernels/` comes before (graph -> kernels: `rangeify`, `fuse`, `order`); `loops/choose.py` stands at
the place marked below.
"""

from __future__ import annotations

from tiny_ir import PROGRAM_LEVEL, SIMPLIFY, KERNEL_LEVEL, Op

from tiny_codegen.kernels.collapse_reduce import COLLAPSE_REDUCE
from tiny_codegen.program.add_loads import add_loads
from tiny_codegen.program.assign_threads import assign_threads
from tiny_codegen.program.decompose_casts import DECOMPOSE_CASTS
from tiny_codegen.program.decompose_dtypes import DECOMPOSE_DTYPES
from tiny_codegen.program.decompose_integers import DECOMPOSE_INTEGERS
from tiny_codegen.program.decompose_math import DECOMPOSE_MATH
from tiny_codegen.program.expand_lanes import expand_lanes
from tiny_codegen.program.flatten_effects import flatten_effects
from tiny_codegen.program.lower_reduce import lower_reduce
from tiny_codegen.program.narrow_indices import NARROW_INDICES
from tiny_codegen.program.widen_memory import widen_memory
from tiny_codegen.stage import Stage

BEFORE_LOOPS = (
    Stage("simplify", SIMPLIFY, KERNEL_LEVEL),  # first: the rest sees canonical indices
    Stage("collapse reduce", COLLAPSE_REDUCE, KERNEL_LEVEL),  # before loops: fewer of them
)
# loops/choose.py: loop actions are chosen here, by rule or by search
AFTER_LOOPS = (
    Stage("expand lanes", expand_lanes, KERNEL_LEVEL),  # first: later stages see wide values once
    Stage("assign threads", assign_threads, KERNEL_LEVEL),
    Stage("simplify", SIMPLIFY, KERNEL_LEVEL),
    # after lanes: an accumulator is as wide as what it sums
    Stage("lower reduce", lower_reduce, KERNEL_LEVEL),
    Stage("add loads", add_loads, PROGRAM_LEVEL),
    Stage("widen memory", widen_memory, PROGRAM_LEVEL),  # needs loads; indices still weakint
    Stage("decompose math", DECOMPOSE_MATH, PROGRAM_LEVEL),  # makes casts, shifts, float ops
    Stage("decompose integers", DECOMPOSE_INTEGERS, PROGRAM_LEVEL),
    Stage("decompose casts", DECOMPOSE_CASTS, PROGRAM_LEVEL),
    Stage("decompose dtypes", DECOMPOSE_DTYPES, PROGRAM_LEVEL),  # after what may make them
    Stage("narrow indices", NARROW_INDICES, PROGRAM_LEVEL),  # last use of proven bounds
    Stage("flatten effects", flatten_effects, PROGRAM_LEVEL),
)
# program/linearize.py: the graph becomes a list

PROGRAM_FREE_OF = frozenset({Op.REDUCE})
