"""Actions on loops that carry states: their iterations stay in order, one after the other."""

from __future__ import annotations

from tiny_codegen.buffers import loaded_from, memory_of, stored_to
from tiny_codegen.loops.legality import LANES, ActionError, known_size, refused
from tiny_codegen.loops.ranges import axis as new_axis
from tiny_codegen.loops.ranges import next_number, replace_range, with_kind
from tiny_codegen.own_loops import FreeNumbers, with_own_loops
from tiny_codegen.prefixes import prefixes_along
from tiny_codegen.scopes import scopes_of
from tiny_ir import AxisKind, Op, UOp, make, rebuild, substitute, toposort


def split_steps(root: UOp, step: UOp, factor: int) -> tuple[UOp, UOp, UOp]:
    """Walk steps in blocks of `factor`, which must divide their number.

    Returns:
        The kernel, the axis over blocks, the axis inside a block.
    """
    size = _known_steps(step, "split")
    if factor < 1 or size % factor:
        raise refused(f"split {size} steps by {factor}", "the factor must divide their number")
    outer = new_axis(step.arg.number, size // factor, AxisKind.SERIAL)
    inner = new_axis(next_number(root), factor, AxisKind.SERIAL)
    return replace_range(root, step, outer * factor + inner, (outer, inner)), outer, inner


def peel_steps(root: UOp, step: UOp, factor: int) -> tuple[UOp, UOp, UOp]:
    """Take the last `size % factor` steps in a loop of their own, after the others.

    Its states are other registers, which begin as those of the first loop end.

    Returns:
        The kernel, the axis of the first part, the axis of the rest.
    """
    size = _known_steps(step, "peel")
    rest = size % factor
    if not 0 < rest < size:
        raise refused(f"peel {size} steps at {factor}", "nothing would be left on one side")
    nodes = toposort((root,))
    ends = [node for node in nodes if node.op is Op.END and step in node.src]
    if len(ends) != 1 or set(stored_to(nodes)) & set(loaded_from(nodes)):
        raise refused("peel steps that change memory", "only registers are handed over")
    end = ends[0]
    if end.src[-2].op is Op.RANGE:
        raise refused("peel steps among other loops", "both parts would be inside of these")
    numbers = FreeNumbers.of(root)
    main = new_axis(numbers.another(step).arg.number, size - rest, AxisKind.SERIAL)
    tail = new_axis(numbers.another(step).arg.number, rest, AxisKind.SERIAL)
    first = replace_range(end, step, main, (main,))
    effects = make(Op.SINK, None, end.src[:-1])
    copy = with_own_loops(effects, (step,), numbers)
    owned = _registers_apart(effects, copy)
    last = make(Op.END, None, (*copy.src, step))
    last = replace_range(last, step, tail + main.src[0], (tail,))
    last = substitute(last, _handed_over(last, tail, first, owned))
    return _with_both(root, end, first, last, owned), main, tail


def vectorize_steps(root: UOp, step: UOp) -> UOp:
    """Make lanes of steps whose states are combined associatively: they become prefixes."""
    _known_steps(step, "vectorize")
    nodes = toposort((root,))
    scopes = scopes_of(nodes)
    for node in nodes:
        if node.op is Op.END and step in node.src[1:] and _is_around(step, node):
            raise refused("vectorize around other steps", "these come first")
        if step not in scopes[node]:
            continue
        if any(axis.arg.kind in LANES for axis in scopes[node]):
            raise refused("vectorize inside of lanes", "a wide value has one axis")
        if node.op is Op.RANGE and node is not step:
            raise refused("vectorize around another size", "lanes take turns together")
        is_memory = node.op is Op.STORE and memory_of(node.src[0]).op is not Op.REGISTER
        if is_memory and step not in scopes[node.src[0]]:
            raise refused("vectorize around one element", "all lanes would write it")
    if prefixes_along(root, step) is None:
        raise refused("vectorize these steps", "their states are not combined associatively")
    return with_kind(root, step, AxisKind.SCAN_LANE)


def unroll_steps(root: UOp, step: UOp) -> UOp:
    """Make copies of steps, each of which goes on where the one before it ended."""
    _known_steps(step, "unroll")
    nodes = toposort((root,))
    scopes = scopes_of(nodes)
    if set(stored_to(nodes)) & set(loaded_from(nodes)):
        raise refused("unroll steps that change memory", "copies would read what others wrote")
    for node in nodes:
        if node.op is Op.END and step in node.src[1:] and _is_around(step, node):
            raise refused("unroll around other steps", "these come first")
        if node.op is Op.RANGE and node is not step and step in scopes[node]:
            raise refused("unroll around another size", "the copies share their loops")
        if node.op in (Op.END, Op.REDUCE) and step in scopes[node]:
            raise refused("unroll steps around a loop", "each copy needs its own")
    return with_kind(root, step, AxisKind.UNROLL)


def _is_around(step: UOp, end: UOp) -> bool:
    """Whether another loop that an END closes stands inside of the steps."""
    return any(a.op is Op.RANGE and a.arg.number > step.arg.number for a in end.src)


def may_be_prefixes(root: UOp, step: UOp) -> bool:
    """Whether `vectorize_steps` is legal."""
    try:
        vectorize_steps(root, step)
    except ActionError:
        return False
    return True


def _known_steps(step: UOp, action: str) -> int:
    if step.arg.kind is not AxisKind.SERIAL:
        raise refused(f"{action} the steps of this axis", "it carries no states")
    return known_size(step)


def _registers_apart(end: UOp, copy: UOp) -> dict[UOp, UOp]:
    """The registers of a loop and those of its copy, which has them in the same places."""
    old, new = (
        [memory_of(node.src[0]) for node in toposort((part,)) if _is_carried(node)]
        for part in (end, copy)
    )
    return {a: b for a, b in zip(old, new, strict=True) if a is not b}


def _is_carried(node: UOp) -> bool:
    return node.op is Op.STORE and memory_of(node.src[0]).op is Op.REGISTER


def _handed_over(last: UOp, tail: UOp, first: UOp, owned: dict[UOp, UOp]) -> dict[UOp, UOp]:
    """For each store that began a state of the loop: one of what the first loop left of it."""
    nodes = toposort((last,))
    scopes = scopes_of(nodes)
    before = {new: old for old, new in owned.items()}
    changed: dict[UOp, UOp] = {}
    for node in nodes:
        if _is_carried(node) and memory_of(node.src[0]) in before and tail not in scopes[node]:
            register = memory_of(node.src[0])
            left = make(Op.LOAD, None, (before[register].after(first),))
            changed[node] = register.after(first).store(left)
    return changed


def _with_both(root: UOp, end: UOp, first: UOp, last: UOp, owned: dict[UOp, UOp]) -> UOp:
    """The kernel with two loops in place of one; what comes after it reads the second's states."""
    done: dict[UOp, UOp] = {end: last}
    for node in toposort((root,)):
        if node in done:
            continue
        src = tuple([done[source] for source in node.src])
        if node.op in (Op.END, Op.SINK) and end in node.src:
            src = (first, *src)
        if node.op is Op.AFTER and end in node.src and node.src[0] in owned:
            src = (owned[node.src[0]], *src[1:])
        done[node] = node if src == node.src else rebuild(node, src)
    return done[root]
