"""The table of contents: every step on the way, in order, with the reason for its place."""

from __future__ import annotations

from tiny_codegen.kernels.collapse_reduce import COLLAPSE_REDUCE
from tiny_codegen.kernels.lay_operands import LAY_OPERANDS
from tiny_codegen.kernels.split_reduce import SPLIT_REDUCE
from tiny_codegen.program.add_loads import add_loads
from tiny_codegen.program.assign_threads import assign_threads
from tiny_codegen.program.decompose import DECOMPOSE
from tiny_codegen.program.drop_single_turns import drop_single_turns
from tiny_codegen.program.expand_lanes import expand_lanes
from tiny_codegen.program.flatten_effects import flatten_effects
from tiny_codegen.program.foresee_writes import foresee_writes
from tiny_codegen.program.lower_reduce import lower_reduce
from tiny_codegen.program.narrow_indices import NARROW_INDICES
from tiny_codegen.program.number_memory import number_memory
from tiny_codegen.program.skip_rare_work import SKIP_RARE_WORK
from tiny_codegen.program.stream_stores import stream_stores
from tiny_codegen.program.transpose_blocks import transpose_blocks
from tiny_codegen.program.widen_memory import widen_memory
from tiny_codegen.stage import LoopChoice, PluginSlot, Row, Stage
from tiny_ir import GRAPH_LEVEL, KERNEL_LEVEL, PROGRAM_LEVEL, SIMPLIFY, SIMPLIFY_GATED

GRAPH_PIPELINE: tuple[Row, ...] = (
    PluginSlot("graph", GRAPH_LEVEL),
    Stage("lay operands", LAY_OPERANDS, GRAPH_LEVEL),  # before parts hide what is reduced
    Stage("split reduce", SPLIT_REDUCE, GRAPH_LEVEL),  # before fuse: each part is a kernel
)
# kernels/rangeify.py (movement to index, with fuse.py) and kernels/order.py then make kernels of
# the graph. What follows is done to each different kernel once.
KERNEL_PIPELINE: tuple[Row, ...] = (
    # what a kernel computes
    Stage("simplify", SIMPLIFY, KERNEL_LEVEL),  # first: all that follows sees canonical indices
    Stage("collapse reduce", COLLAPSE_REDUCE, KERNEL_LEVEL),  # before loops: fewer of them
    Stage("simplify gates", SIMPLIFY_GATED, KERNEL_LEVEL),  # an offset may be simpler where it is
    PluginSlot("kernel", KERNEL_LEVEL),
    # loops: in which order and how wide
    LoopChoice("choose loops", KERNEL_LEVEL),  # loops/choose.py, by rule or by search
    PluginSlot("loops", KERNEL_LEVEL),
    Stage("expand lanes", expand_lanes, KERNEL_LEVEL),  # later stages see wide values once
    Stage("assign threads", assign_threads, KERNEL_LEVEL),
    Stage("drop single turns", drop_single_turns, KERNEL_LEVEL),  # blocks may be all there is
    Stage("simplify lanes", SIMPLIFY, KERNEL_LEVEL),  # lanes made new indices
    # program: how it is computed
    Stage("lower reduce", lower_reduce, KERNEL_LEVEL),  # after lanes: accumulators are as wide
    Stage("add loads", add_loads, PROGRAM_LEVEL, allows_weak=True),  # widen memory looks for them
    Stage("transpose blocks", transpose_blocks, PROGRAM_LEVEL, allows_weak=True),  # of such lanes
    Stage("widen memory", widen_memory, PROGRAM_LEVEL, allows_weak=True),  # sees affine indices
    Stage("stream stores", stream_stores, PROGRAM_LEVEL, allows_weak=True),  # of wide memory
    Stage("narrow indices", NARROW_INDICES, PROGRAM_LEVEL),  # machines have no weakint
    PluginSlot("program", PROGRAM_LEVEL),
    Stage("decompose", DECOMPOSE, PROGRAM_LEVEL),  # divides and shifts by bounds of integers
    Stage("skip rare work", SKIP_RARE_WORK, PROGRAM_LEVEL),  # functions have their slow sides now
    Stage("foresee writes", foresee_writes, PROGRAM_LEVEL),  # all addresses are what they will be
    Stage("flatten effects", flatten_effects, PROGRAM_LEVEL),
    Stage("number memory", number_memory, PROGRAM_LEVEL),  # last: no stage adds any after it
)
# program/linearize.py then puts the nodes in one line, and generator.py adds the launch facts.
