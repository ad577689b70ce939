"""Finds the axis along which memory lies that lanes of another axis cross.

Copies of that axis, as many as there are lanes, make square blocks: they are read along memory, and
turned in registers.
"""

from __future__ import annotations

from tiny_codegen.buffers import memory_of
from tiny_codegen.loops.accesses import stride
from tiny_codegen.loops.legality import ActionError
from tiny_codegen.loops.ranges import size_of_axis
from tiny_codegen.loops.steps import unroll_steps
from tiny_codegen.loops.work import Site
from tiny_codegen.program.widen_memory import WIDEST_STEP
from tiny_ir import AxisKind, Op, UOp, toposort

FEWEST_ELEMENTS = 1 << 14
"""Elements from which on a longer kernel is worth its compilation, some 40 ms more."""
MOST_OPERATIONS = 12
"""Operations of an element up to which so many copies do not make a kernel too long."""


def crossing_axis(root: UOp, sites: list[Site], axis: UOp, lanes: int) -> UOp | None:
    """The axis to make copies of where `axis` becomes lanes; None where that gains nothing."""
    inside = [site for site in sites if axis in site.scope]
    if any(site.node.op is Op.REDUCE for site in sites) or lanes & (lanes - 1):
        return None
    if sum(site.operations for site in inside) > MOST_OPERATIONS:
        return None
    if max((site.iterations for site in inside), default=0) < FEWEST_ELEMENTS:
        return None
    found: set[UOp] = set()
    for site in inside:
        for address in addresses_of(site):
            if is_crossed(address, axis, lanes):
                beside = _axis_beside(address, site, axis, lanes)
                if beside is None:
                    return None
                found.add(beside)
    if len(found) != 1:
        return None
    (beside,) = found
    return beside if _may_be_copied(root, beside) else None


def addresses_of(site: Site) -> list[UOp]:
    """The places in memory that a site reads and writes for one element."""
    stored = [site.node.src[0]] if site.node.op is Op.STORE else []
    return [*site.loads, *(address for address in stored if address.op is Op.INDEX)]


def is_crossed(address: UOp, axis: UOp, lanes: int) -> bool:
    """Whether the lanes of an axis lie so far apart that each is an access of its own."""
    step = stride(address.src[1], axis)
    return step is not None and abs(step) > WIDEST_STEP and abs(step) >= lanes


def _axis_beside(address: UOp, site: Site, axis: UOp, lanes: int) -> UOp | None:
    if len(address.src) > 2 or memory_of(address).op is not Op.PARAM:
        return None
    for other in site.scope:
        size = size_of_axis(other)
        if other is axis or other.arg.kind not in (AxisKind.LOOP, AxisKind.SERIAL):
            continue
        if size is not None and size >= lanes and stride(address.src[1], other) in (1, -1):
            return other
    return None


def _may_be_copied(root: UOp, axis: UOp) -> bool:
    if axis.arg.kind is AxisKind.SERIAL:
        try:
            unroll_steps(root, axis)
        except ActionError:
            return False
        return True
    return not any(node.op is Op.REGISTER for node in toposort((root,)))
