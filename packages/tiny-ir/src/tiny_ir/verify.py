"""Refuse a graph, or the linear list of a program, that its level does not allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tiny_ir.check import STORAGE, Fault, fault_of, is_effect, refuse
from tiny_ir.dtypes import bool_, void
from tiny_ir.errors import ArgumentError
from tiny_ir.op import Op
from tiny_ir.op_table import GRAPH_LEVEL, KERNEL_LEVEL, OP_TABLE, PROGRAM_LEVEL
from tiny_ir.toposort import toposort

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tiny_ir.uop import UOp

LEVELS = (GRAPH_LEVEL, KERNEL_LEVEL, PROGRAM_LEVEL)
_TAKES_ADDRESS = frozenset((Op.LOAD, Op.STORE, Op.PREFETCH))
_ORDERING = frozenset((Op.AFTER, Op.END, Op.BARRIER, Op.SINK))


def verify(root: UOp, level: str, *, allow_weak: bool = False) -> None:
    """Check every node below a root: arity, dtype, shape, arg, level and scope.

    Args:
        root: a SINK at the levels kernel and program, any node at graph.
        level: "graph", "kernel" or "program".
        allow_weak: weakint may still stand in a program: its indices are not narrowed yet.

    Raises:
        VerificationError: names the first wrong node, says why it is wrong and how to fix it.
        ArgumentError: there is no such level.

    Example:
        >>> from tiny_ir import const, dtypes
        >>> verify(const(dtypes.int32, 1) + 2, "graph")
    """
    if level not in LEVELS:
        raise ArgumentError(
            f"there is no level {level!r}.",
            why="a level says which ops may stand in a graph.",
            fix=f"choose one of {', '.join(LEVELS)}.",
        )
    where = f" at level {level}"
    if level != GRAPH_LEVEL and root.op is not Op.SINK:
        refuse(root, Fault(f"a {level} is one SINK.", "pass SINK(END(STORE(...)))."), where)
    order = toposort([root])
    for node in order:
        fault = fault_of(node) or _level_fault(node, level, allow_weak)
        if fault is not None:
            refuse(node, fault, where)
    _verify_scope(order, where)


def verify_program(uops: Sequence[UOp]) -> None:
    """Check the linear list of a program: every node, and the order they stand in.

    Sources stand before users. A RANGE opens a loop and an END closes it; loops nest; what is
    computed inside a loop is used inside it.

    Args:
        uops: each node once.

    Raises:
        VerificationError: names the first wrong node, says why it is wrong and how to fix it.

    Example:
        >>> from tiny_ir import Op, make
        >>> verify_program([make(Op.SINK)])
    """
    where = f" at level {PROGRAM_LEVEL}"
    scope: tuple[UOp, ...] = ()
    scope_of: dict[UOp, tuple[UOp, ...]] = {}
    for node in uops:
        fault = fault_of(node) or _level_fault(node, PROGRAM_LEVEL)
        if fault is None:
            fault = _order_fault(node, scope, scope_of)
        if fault is not None:
            refuse(node, fault, where)
        if node.op is Op.RANGE:
            scope = (*scope, node)
        elif node.op is Op.END:
            scope = scope[: len(scope) - len(_closed_by(node))]
        scope_of[node] = scope
    if scope:
        refuse(scope[-1], Fault("its loop is never closed.", "add its END."), where)


def _order_fault(
    node: UOp, scope: tuple[UOp, ...], scope_of: dict[UOp, tuple[UOp, ...]]
) -> Fault | None:
    if node in scope_of:
        return Fault("it stands in the list twice.", "list each node once.")
    for source in node.src:
        inner = scope_of.get(source)
        if inner is None:
            return Fault(f"{source!r} does not stand before it.", "list sources before users.")
        # What a finished loop has done stays done; what it computed is gone.
        if source.dtype is not void and scope[: len(inner)] != inner:
            return Fault(f"{source!r} is inside a loop that is closed.", "use it before the END.")
    if node.op is Op.END:
        closed = _closed_by(node)
        if set(scope[len(scope) - len(closed) :]) != set(closed):
            return Fault(
                "it does not close the innermost loops.", "nest loops, and close each once."
            )
    return None


# Levels -----------------------------------------------------------------------------------------


def _level_fault(node: UOp, level: str, allow_weak: bool = False) -> Fault | None:
    op = node.op
    if level not in OP_TABLE[op].levels:
        allowed = ", ".join(name for name in LEVELS if name in OP_TABLE[op].levels)
        return Fault(f"{op.name} stands at {allowed} only.", "run the stage that lowers it.")
    if level == GRAPH_LEVEL:
        return _graph_fault(node)
    if op is Op.SINK and not all(is_effect(source) for source in node.src):
        return Fault("a kernel has effects, no values.", "store the values.")
    if op is Op.STORE and not _is_address(node.src[0]):
        return Fault(f"{node.src[0]!r} is no address.", "store to an INDEX or a REGISTER.")
    if op is Op.INDEX and not _is_memory(node.src[0]):
        return Fault(f"{node.src[0]!r} is not memory.", "index a PARAM or SCRATCH.")
    if level == KERNEL_LEVEL:
        return _kernel_fault(node)
    if node.dtype.is_weak and not allow_weak:
        return Fault(f"{node.dtype.name} has no width.", "narrow it to int32, int64 or a float.")
    return _program_fault(node)


def _graph_fault(node: UOp) -> Fault | None:
    if node.op is Op.INDEX and (node.arg is not None or node.src[-1].dtype is bool_):
        return Fault("lanes and valid belong to kernels.", "index by tensors of integers.")
    if node.op is Op.REDUCE and not node.arg.axes:
        return Fault("it names no axes.", "reduce axes; ranges belong to kernels.")
    if node.op is Op.AFTER and len(node.src) > 2:
        return Fault(
            "it comes after several writes.", "put one AFTER above another: each is a version."
        )
    return None


def _kernel_fault(node: UOp) -> Fault | None:
    if node.op is Op.LOAD and _is_address(node.src[0]) and not _is_memory(node.src[0]):
        return Fault("an INDEX of a kernel is its element.", "use the INDEX as a value.")
    return None


def _program_fault(node: UOp) -> Fault | None:
    if node.op is Op.INDEX:
        if node.src[-1].dtype is bool_:
            return Fault("an address is valid or not used.", "make the valid a gate of the LOAD.")
        return None
    if node.op is Op.REDUCE and len(node.src) > 1:
        return Fault("it reduces ranges.", "keep an accumulator in a REGISTER.")
    if node.op is Op.LOAD and not _is_address(node.src[0]):
        return Fault(f"{node.src[0]!r} is no address.", "load an INDEX or a REGISTER.")
    if node.op in _ORDERING:
        return None
    for source in node.src[1:] if node.op in _TAKES_ADDRESS else node.src:
        if _is_address(source) or _is_memory(source):
            return Fault(f"{source!r} is an address, not a value.", "LOAD it first.")
    return None


def _is_memory(node: UOp) -> bool:
    """Whether a node is storage, maybe after effects."""
    while node.op is Op.AFTER:
        node = node.src[0]
    return node.op in STORAGE


def _is_address(node: UOp) -> bool:
    """Whether a node is an element of storage, or a register."""
    while node.op is Op.AFTER:
        node = node.src[0]
    return node.op is Op.INDEX or node.op is Op.REGISTER


# Scope ------------------------------------------------------------------------------------------


def _closed_by(node: UOp) -> tuple[UOp, ...]:
    """The RANGEs whose loops end with a node."""
    if node.op is Op.END:
        return tuple([source for source in node.src if source.op is Op.RANGE])
    if node.op is Op.REDUCE:
        return node.src[1:]
    return node.src[:1] if node.op in (Op.LOOP, Op.SCAN) else ()


def _verify_scope(order: Sequence[UOp], where: str) -> None:
    """Follow which loops are open at each node, as sets of bits.

    A RANGE opens its loop for all its users; END, REDUCE, LOOP and SCAN close it. A state belongs
    to the loop of its recurrence.
    """
    opened: dict[UOp, int] = {}
    closed: dict[UOp, int] = {}
    bits: dict[object, int] = {}

    def bit_of(loop: object) -> int:
        return bits.setdefault(loop, 1 << len(bits))

    for node in order:
        inside = outside = ending = 0
        for source in node.src:
            inside |= opened[source]
            outside |= closed[source]
        for loop in _closed_by(node):
            ending |= bit_of(loop)
        if node.op is Op.RANGE:
            inside |= bit_of(node)
        elif node.op is Op.STATE:
            inside |= bit_of(node.arg.number)
        elif node.op in (Op.LOOP, Op.SCAN):
            ending |= bit_of(node.arg.number)
        if inside & outside:
            fault = Fault(
                f"it is inside {_names(bits, inside & outside)}, and uses a result of it.",
                "give one of the two loops a RANGE of its own.",
            )
            refuse(node, fault, where)
        opened[node] = inside & ~ending
        closed[node] = outside | ending
    root = order[-1]
    if opened[root]:
        fault = Fault(
            f"{_names(bits, opened[root])} is used outside its END.",
            "close the loop with END or REDUCE above all its users.",
        )
        refuse(root, fault, where)


def _names(bits: dict[object, int], chosen: int) -> str:
    found: Iterable[object] = [loop for loop, bit in bits.items() if bit & chosen]
    return ", ".join(f"state {loop}" if isinstance(loop, int) else repr(loop) for loop in found)


__all__ = ["LEVELS", "verify", "verify_program"]
