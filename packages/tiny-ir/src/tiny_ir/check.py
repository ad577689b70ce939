"""What is wrong with a single node: its arity, dtype, shape or arg, whatever level it stands at."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypeAlias

from tiny_ir import arguments
from tiny_ir.dtypes import bool_, uint64, void
from tiny_ir.errors import ShapeError, VerificationError
from tiny_ir.meaning import has_meaning
from tiny_ir.op import Op
from tiny_ir.op_table import COMPARISONS, MOVEMENT, OP_TABLE
from tiny_ir.sizes import Shape, is_same_shape, is_same_size

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tiny_ir.uop import UOp

    Check: TypeAlias = Callable[[UOp], "Fault | None"]

STORAGE = frozenset((Op.BUFFER, Op.PARAM, Op.SCRATCH, Op.REGISTER))
COMBINING = frozenset((Op.ADD, Op.MUL, Op.MAX, Op.MIN, Op.AND, Op.OR, Op.XOR))


class Fault(NamedTuple):
    """Why a node is refused, and what would cure it."""

    why: str
    fix: str


def check_node(node: UOp) -> None:
    """Refuse a node whose arity, dtype, shape or arg is wrong.

    Raises:
        VerificationError: names the node, what is wrong and how to fix it.

    Example:
        >>> from tiny_ir import const, dtypes
        >>> check_node(const(dtypes.int32, 1) + 2)
    """
    fault = fault_of(node)
    if fault is not None:
        refuse(node, fault)


def refuse(node: UOp, fault: Fault, where: str = "") -> NoReturn:
    """Raise the error about a node."""
    sources = ", ".join(map(repr, node.src[:4])) + (", ..." if len(node.src) > 4 else "")
    raise VerificationError(
        f"{node!r} of ({sources}) is not valid{where}.", why=fault.why, fix=fault.fix
    )


def fault_of(node: UOp) -> Fault | None:
    """Say what is wrong with a node, or None.

    Example:
        >>> from tiny_ir import const, dtypes
        >>> fault_of(const(dtypes.int32, 1)) is None
        True
    """
    op = node.op
    row = OP_TABLE[op]
    count = len(node.src)
    if count < row.minimum_arity or (row.maximum_arity is not None and count > row.maximum_arity):
        most = "or more" if row.maximum_arity is None else f"to {row.maximum_arity}"
        return Fault(
            f"{op.name} takes {row.minimum_arity} {most} sources, here are {count}.",
            "pass as many sources as its row in OP_TABLE says.",
        )
    kind = _ARGUMENTS.get(op, type(None))
    if not isinstance(node.arg, kind):
        return Fault(f"{node.arg!r} is not an arg of {op.name}.", f"pass {_kind_name(kind)}.")
    fault = _fields(node) or _sources(node)
    if fault is None and row.dtype_of is not None and node.dtype is not row.dtype_of(node.src):
        expected = row.dtype_of(node.src).name
        fault = Fault(f"its sources give {expected}.", "build it with make(op, None, src, arg).")
    if fault is None and row.dtype_of is None and node.dtype is void:
        fault = Fault("a value is not void.", "pass the dtype of its elements.")
    return fault or _CHECKS.get(op, _nothing)(node) or _shape(node)


def _nothing(node: UOp) -> None:
    return None


def _kind_name(kind: type | tuple[type, ...]) -> str:
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return " or ".join("no arg" if one is type(None) else one.__name__ for one in kinds)


def _shape(node: UOp) -> Fault | None:
    """Settle the shape once more: it must follow from the sources."""
    try:
        shape = OP_TABLE[node.op].shape_of(node.src, node.arg)
    except ShapeError as error:
        return Fault(f"{error.what} {error.why}", error.fix)
    except (IndexError, ValueError):
        return Fault("its sources give no shape.", "count its sources and the axes of the first.")
    if not is_same_shape(shape, node.shape):
        return Fault(f"its sources give shape {shape}.", "build it with make(op, None, src, arg).")
    return None


# Arguments --------------------------------------------------------------------------------------

_ARGUMENTS: Mapping[Op, type | tuple[type, ...]] = MappingProxyType(
    {
        Op.CONST: (bool, int, float),
        Op.BUFFER: arguments.BufferArg,
        Op.PARAM: arguments.ParamArg,
        Op.VARIABLE: arguments.VariableArg,
        Op.RANGE: arguments.RangeArg,
        Op.SPECIAL: str,
        Op.IOTA: int,
        Op.SCRATCH: arguments.ScratchArg,
        Op.REGISTER: arguments.RegisterArg,
        Op.STATE: arguments.StateArg,
        Op.STORE: (arguments.StoreArg, type(None)),
        Op.PERMUTE: tuple,
        Op.FLIP: tuple,
        Op.WINDOW: arguments.WindowArg,
        Op.FOLD: arguments.FoldArg,
        Op.REDUCE: arguments.ReduceArg,
        Op.LOOP: arguments.LoopArg,
        Op.SCAN: arguments.LoopArg,
        Op.CALL: arguments.CallArg,
        Op.GET: int,
        Op.INDEX: (int, type(None)),
        Op.SCATTER: (Op, type(None)),
        Op.COPY: str,
        Op.CUSTOM: int,
        Op.CONTIGUOUS_BACKWARD: (int, type(None)),
        Op.SINK: (arguments.KernelArg, type(None)),
        Op.SPLAT: int,
        Op.EXTRACT: int,
        Op.SHUFFLE: tuple,
    }
)
_POSITIVE = MappingProxyType(
    {
        Op.WINDOW: ("size", "stride", "dilation"),
        Op.FOLD: ("stride", "dilation"),
        Op.LOOP: ("states",),
        Op.SCAN: ("outputs",),
    }
)


def _fields(node: UOp) -> Fault | None:
    """Check the numbers of an arg."""
    for name in _POSITIVE.get(node.op, ()):
        if getattr(node.arg, name) < 1:
            return Fault(f"{name} is {getattr(node.arg, name)}.", "it is at least 1.")
    elements = getattr(node.arg, "elements", 0)
    if elements < 0:
        return Fault(f"it holds {elements} elements.", "it holds none or more.")
    return None


def _const(node: UOp) -> Fault | None:
    dtype, value = node.dtype, node.arg
    kind = bool if dtype.is_bool else float if dtype.is_float else int
    if type(value) is not kind or not (value != value or dtype.minimum <= value <= dtype.maximum):
        return Fault(f"{value!r} is not a value of {dtype.name}.", "build it with const().")
    return None


def _variable(node: UOp) -> Fault | None:
    if not node.dtype.is_int:
        return Fault(f"a variable is an integer, not {node.dtype.name}.", "use weakint.")
    if node.arg.minimum > node.arg.maximum:
        return Fault("its minimum is above its maximum.", "swap its bounds.")
    return None


def _bind(node: UOp) -> Fault | None:
    variable, value = node.src
    if variable.op is not Op.VARIABLE or value.op is not Op.CONST:
        return Fault("it binds something else.", "bind a VARIABLE to a CONST.")
    if variable.dtype is not value.dtype:
        return Fault("the value has another dtype.", f"use a {variable.dtype.name}.")
    low, high = variable.arg.minimum, variable.arg.maximum
    if not low <= value.arg <= high:
        return Fault(f"{value.arg} is not in {low}..{high}.", "bind a value in its bounds.")
    return None


def _counted(node: UOp) -> Fault | None:
    size = node.src[0]
    if not size.dtype.is_int or size.shape:
        return Fault("its size is not one integer.", "pass a size of shape ().")
    if size.op is Op.CONST and size.arg < 0:
        return Fault(f"its size is {size.arg}.", "a size is zero or more.")
    return None


def _lanes(node: UOp) -> Fault | None:
    if node.arg < 1:
        return Fault(f"it has {node.arg} lanes.", "a wide value has at least one lane.")
    if node.op is Op.SPLAT and node.src[0].shape:
        return Fault("its source has lanes already.", "splat a value of shape ().")
    if node.op is Op.IOTA and not node.dtype.is_int:
        return Fault(f"it counts in {node.dtype.name}.", "count in an integer dtype.")
    return None


# Sources ----------------------------------------------------------------------------------------

_EFFECTS = frozenset((Op.AFTER, Op.END, Op.BARRIER, Op.SINK))
_TAKES_RECURRENCE = frozenset((Op.GET,))


def _sources(node: UOp) -> Fault | None:
    """Sources are values; only the ops that order effects take effects."""
    if node.op in _EFFECTS or node.op in _TAKES_RECURRENCE:
        return None
    for source in node.src:
        if source.dtype is void:
            return Fault(f"{source!r} is an effect.", "an effect is a source of AFTER, END, SINK.")
    return None


def _all_alike(sources: tuple[UOp, ...]) -> Fault | None:
    first = sources[0].dtype
    for source in sources:
        if source.dtype is not first:
            return Fault(
                f"its sources are {first.name} and {source.dtype.name}.",
                "cast one side, so that both have one dtype.",
            )
    return None


def _computes(node: UOp) -> Fault | None:
    """An elementwise op has sources of one dtype, in which it means something."""
    fault = _all_alike(node.src)
    if fault is None and not has_meaning(node.op, node.src[0].dtype):
        dtype = node.src[0].dtype.name
        fault = Fault(f"{node.op.name} means nothing in {dtype}.", "cast its sources first.")
    return fault


def _where(node: UOp) -> Fault | None:
    if node.src[0].dtype is not bool_:
        return Fault(f"its condition is {node.src[0].dtype.name}.", "compare, to get a bool.")
    return _all_alike(node.src[1:])


def _bitcast(node: UOp) -> Fault | None:
    source = node.src[0].dtype
    if not node.dtype.nbytes or node.dtype.nbytes != source.nbytes:
        return Fault(f"{source.name} is not as wide as {node.dtype.name}.", "keep the width.")
    return None


def _threefry(node: UOp) -> Fault | None:
    if any(source.dtype is not uint64 for source in node.src):
        return Fault("counter and key are uint64.", "cast them to uint64.")
    return None


def _movement(node: UOp) -> Fault | None:
    """Sizes are integers of shape (), zero or more, in the number that the op takes."""
    rank = len(node.src[0].shape)
    sizes = node.src[1:]
    if node.op in (Op.PAD, Op.SHRINK) and len(sizes) != 2 * rank:
        return Fault(f"{len(sizes)} sizes do not fit {rank} axes.", "pass two sizes an axis.")
    for size in sizes:
        if not size.dtype.is_int or size.shape:
            return Fault(f"{size!r} is not a size.", "pass integers of shape ().")
        if size.op is Op.CONST and size.arg < 0:
            return Fault(f"the size {size.arg} is negative.", "a size is zero or more.")
    if node.op in (Op.PERMUTE, Op.FLIP) and not all(type(axis) is int for axis in node.arg):
        return Fault(f"{node.arg} does not list axes.", "pass a tuple of ints.")
    if node.op is Op.WINDOW and not 0 <= node.arg.axis < rank:
        return Fault(f"{node.src[0].shape} has no axis {node.arg.axis}.", "choose one it has.")
    return None


def _fold(node: UOp) -> Fault | None:
    shape, arg = node.src[0].shape, node.arg
    if not 0 <= arg.axis < len(shape) - 1:
        return Fault(f"{shape} has no axis {arg.axis} before its last.", "choose one it has.")
    count = shape[arg.axis]
    reach = shape[-1] * arg.dilation - arg.dilation
    if not is_same_size(count, (arg.length - reach - 1) // arg.stride + 1):
        return Fault(
            f"{count} windows of {shape[-1]} do not come from an axis of {arg.length}.",
            "give the length that WINDOW was taken from.",
        )
    return None


# Reductions, recurrences, addresses -------------------------------------------------------------


def _reduce(node: UOp) -> Fault | None:
    source, *ranges = node.src
    op, axes = node.arg
    if op not in COMBINING or not has_meaning(op, source.dtype):
        return Fault(
            f"values of {source.dtype.name} do not combine by {op!r}.",
            f"use one of {', '.join(sorted(op.name for op in COMBINING))}, and cast bools first.",
        )
    if not axes and not ranges:
        return Fault("it reduces nothing.", "name axes or ranges.")
    if any(not 0 <= axis < len(source.shape) for axis in axes) or len(set(axes)) != len(axes):
        return Fault(f"{axes} are not axes of {source.shape}.", "name each axis that it has once.")
    return _are_ranges(ranges)


def _are_ranges(ranges: list[UOp]) -> Fault | None:
    for source in ranges:
        if source.op is not Op.RANGE:
            return Fault(f"{source!r} is not a RANGE.", "close RANGEs only.")
    return None


def _recurrence(node: UOp) -> Fault | None:
    step, states, outputs = node.src[0], node.arg.states, node.arg.outputs
    if len(node.src) != 1 + 2 * states + outputs + node.arg.conditional:
        return Fault("the number of its sources is not that of its arg.", "count both again.")
    if node.op is Op.LOOP and outputs:
        return Fault("a LOOP stores no outputs.", "use SCAN.")
    if step.op is not Op.RANGE:
        return Fault(f"{step!r} does not count its steps.", "its first source is a RANGE.")
    firsts, nexts = node.src[1 : 1 + states], node.src[1 + states : 1 + 2 * states]
    for first, following in zip(firsts, nexts, strict=True):
        if first.dtype is not following.dtype or not is_same_shape(first.shape, following.shape):
            return Fault(
                f"a state begins as {first!r} and goes on as {following!r}.",
                "a state keeps its dtype and shape: cast or reshape one of them.",
            )
    if node.arg.conditional and (node.src[-1].dtype is not bool_ or node.src[-1].shape):
        return Fault("its condition is not one bool.", "reduce it to a bool of shape ().")
    return None


def _call(node: UOp) -> Fault | None:
    arg = node.arg
    if len(arg.inputs) != len(node.src) or len(set(arg.inputs)) != len(arg.inputs):
        return Fault("the number of its sources is not that of its inputs.", "count both again.")
    if not arg.results:
        return Fault("it writes nothing.", "store to an argument in the kernel.")
    firsts = dict(zip(arg.inputs, node.src, strict=True))
    for result in arg.results:
        first = firsts.get(result.slot)
        if first is not None and (first.dtype, first.shape) != (result.dtype, result.shape):
            return Fault(
                f"argument {result.slot} begins as {first!r} and becomes {result}.",
                "an argument keeps its dtype and shape.",
            )
    return None


def _get(node: UOp) -> Fault | None:
    recurrence = node.src[0]
    if recurrence.op is Op.CALL:
        results = recurrence.arg.results
        if not 0 <= node.arg < len(results):
            return Fault(f"there is no result {node.arg}.", "count what the kernel writes.")
        if node.dtype is not results[node.arg].dtype:
            return Fault("the result has another dtype.", f"{results[node.arg].dtype.name}.")
        return None
    if recurrence.op is not Op.LOOP and recurrence.op is not Op.SCAN:
        return Fault(f"{recurrence!r} has no results.", "take results of LOOP, SCAN or CALL.")
    states = recurrence.arg.states
    if not 0 <= node.arg < states + recurrence.arg.outputs:
        return Fault(f"there is no result {node.arg}.", "count its states, then its outputs.")
    position = 1 + node.arg if node.arg < states else 1 + states + node.arg
    if node.dtype is not recurrence.src[position].dtype:
        return Fault("the result has another dtype.", f"{recurrence.src[position].dtype.name}.")
    return None


def _positions(sources: tuple[UOp, ...]) -> Fault | None:
    for source in sources:
        if not source.dtype.is_int:
            return Fault(f"the position {source!r} is not an integer.", "cast it to an integer.")
    return None


def _index(node: UOp) -> Fault | None:
    place, *positions = node.src
    if positions and positions[-1].dtype is bool_:
        valid = positions.pop()
        if not positions or len(place.shape) != 1:
            return Fault("only one element has a valid.", "index storage by one offset.")
        if valid.shape and not is_same_shape(valid.shape, positions[0].shape):
            return Fault("the valid has another shape than the offset.", "give it that shape.")
    if not 1 <= len(positions) <= len(place.shape):
        return Fault(
            f"{len(positions)} positions do not fit shape {place.shape}.",
            "pass one position or more, and not more than it has axes.",
        )
    if node.arg is not None and (node.arg < 1 or len(positions) > 1 or positions[0].shape):
        return Fault("lanes start at one offset.", "pass one offset of shape (), one lane or more.")
    if node.arg is not None and storage_of(place) is None:
        return Fault(f"{place!r} is not in memory.", "index a PARAM or SCRATCH by lanes.")
    return _positions(tuple(positions))


def _scatter(node: UOp) -> Fault | None:
    place, value, *positions = node.src
    if node.arg is not None and (
        node.arg not in COMBINING or not has_meaning(node.arg, place.dtype)
    ):
        return Fault(f"values do not combine by {node.arg!r}.", "use None, ADD, MUL, MAX or MIN.")
    if len(positions) > len(place.shape):
        return Fault(f"{len(positions)} positions do not fit {place.shape}.", "pass fewer.")
    fault = _positions(tuple(positions)) or _all_alike((place, value))
    if fault is not None:
        return fault
    shape: Shape = ()
    for position in positions:
        shape = position.shape or shape
    expected = (*shape, *place.shape[len(positions) :])
    if not is_same_shape(value.shape, expected):
        return Fault(f"the value is {value.shape}, not {expected}.", "expand or reshape it.")
    if any(source.shape and not is_same_shape(source.shape, shape) for source in positions):
        return Fault("the positions have several shapes.", "expand them to one.")
    return None


# Memory and effects -----------------------------------------------------------------------------

_VIEW = MOVEMENT | {Op.AFTER, Op.INDEX, Op.BITCAST, Op.DETACH, Op.CONTIGUOUS}


def storage_of(node: UOp) -> UOp | None:
    """Find the storage under a view: movement, INDEX, AFTER and BITCAST; None where there is none.

    Example:
        >>> from tiny_ir import Op, ParamArg, const, dtypes, make
        >>> buffer = make(Op.PARAM, dtypes.int8, (), ParamArg(0, 4, "cpu"))
        >>> storage_of(buffer.index(const(dtypes.weakint, 2))) is buffer
        True
    """
    while node.op in _VIEW:
        node = node.src[0]
    return node if node.op in STORAGE else None


def _gate(gate: UOp, place: UOp) -> Fault | None:
    if gate.dtype is not bool_:
        return Fault(f"its gate is {gate.dtype.name}.", "compare, to get a bool.")
    if gate.shape and not is_same_shape(gate.shape, place.shape):
        return Fault(f"its gate has shape {gate.shape}.", f"give it {place.shape} or ().")
    return None


def _load(node: UOp) -> Fault | None:
    place = node.src[0]
    if storage_of(place) is None:
        return Fault(f"{place!r} is no place in memory.", "load an INDEX or a REGISTER.")
    if len(node.src) == 2:
        return Fault("a gate needs a value for where it is closed.", "pass alt and gate, or none.")
    if len(node.src) == 1:
        return None
    alt, gate = node.src[1:]
    if alt.shape and not is_same_shape(alt.shape, place.shape):
        return Fault(f"the other value has shape {alt.shape}.", f"give it {place.shape} or ().")
    return _all_alike((place, alt)) or _gate(gate, place)


def _store(node: UOp) -> Fault | None:
    place, value = node.src[:2]
    if storage_of(place) is None:
        return Fault(f"{place!r} is no place in memory.", "store to a view of storage.")
    if value.shape and not is_same_shape(place.shape, value.shape):
        return Fault(f"{value.shape} does not fit {place.shape}.", "expand or reshape the value.")
    fault = _all_alike((place, value))
    return fault or (_gate(node.src[2], place) if len(node.src) == 3 else None)


def is_effect(node: UOp) -> bool:
    """Say whether a node may stand for something that has happened.

    Example:
        >>> from tiny_ir import const, dtypes
        >>> is_effect(const(dtypes.int8, 1))
        False
    """
    return node.dtype is void or node.op in (Op.AFTER, Op.RANGE)


def _are_effects(sources: tuple[UOp, ...]) -> Fault | None:
    for source in sources:
        if not is_effect(source):
            return Fault(f"{source!r} is not an effect.", "pass STORE, END, AFTER or RANGE.")
    return None


def _after(node: UOp) -> Fault | None:
    # A write waits for the reads of what it overwrites.
    reads = (Op.LOAD, Op.INDEX)
    return _are_effects(tuple([source for source in node.src[1:] if source.op not in reads]))


def _end(node: UOp) -> Fault | None:
    ranges = [source for source in node.src if source.op is Op.RANGE]
    effects = node.src[: len(node.src) - len(ranges)]
    if not ranges or not effects:
        return Fault("it closes nothing, or has no body.", "pass effects, then their RANGEs.")
    if any(source.op is Op.RANGE for source in effects):
        return Fault("a RANGE stands before an effect.", "pass effects, then RANGEs.")
    if len(set(ranges)) != len(ranges):
        return Fault("it closes a RANGE twice.", "name each RANGE once.")
    return _are_effects(effects)


def _barrier(node: UOp) -> Fault | None:
    return _are_effects(node.src)


def _prefetch(node: UOp) -> Fault | None:
    place = node.src[0]
    if place.op is not Op.INDEX or place.shape or storage_of(place) is None:
        return Fault(f"{place!r} is no place in memory.", "prefetch one element: an INDEX.")
    return None


# Wide values ------------------------------------------------------------------------------------


def _stack(node: UOp) -> Fault | None:
    for source in node.src:
        if source.shape != ():
            return Fault(f"{source!r} is wide itself.", "stack values of shape ().")
    return _all_alike(node.src)


def _extract(node: UOp) -> Fault | None:
    shape = node.src[0].shape
    if len(shape) != 1 or not isinstance(shape[0], int) or not 0 <= node.arg < shape[0]:
        return Fault(f"{shape} has no lane {node.arg}.", "choose a lane of a wide value.")
    return None


def _shuffle(node: UOp) -> Fault | None:
    lanes = 0
    for source in node.src:
        if len(source.shape) != 1 or not isinstance(source.shape[0], int):
            return Fault(f"{source!r} has no lanes.", "shuffle wide values.")
        lanes += source.shape[0]
    if not node.arg or not all(type(lane) is int and 0 <= lane < lanes for lane in node.arg):
        return Fault(f"{node.arg} are not lanes of its {lanes}.", "choose lanes that it has.")
    return _all_alike(node.src)


def _check_of(op: Op) -> Check:
    row = OP_TABLE[op]
    if op in MOVEMENT:
        return _movement
    if row.is_elementwise or op in COMPARISONS:
        return _computes
    return _nothing


_CHECKS: Mapping[Op, Check] = MappingProxyType(
    {op: _check_of(op) for op in Op}
    | {
        Op.CONST: _const,
        Op.VARIABLE: _variable,
        Op.BIND: _bind,
        Op.RANGE: _counted,
        Op.SPECIAL: _counted,
        Op.IOTA: _lanes,
        Op.SPLAT: _lanes,
        Op.CAST: _nothing,
        Op.BITCAST: _bitcast,
        Op.THREEFRY: _threefry,
        Op.WHERE: _where,
        Op.FOLD: _fold,
        Op.REDUCE: _reduce,
        Op.LOOP: _recurrence,
        Op.SCAN: _recurrence,
        Op.CALL: _call,
        Op.GET: _get,
        Op.INDEX: _index,
        Op.SCATTER: _scatter,
        Op.LOAD: _load,
        Op.STORE: _store,
        Op.AFTER: _after,
        Op.END: _end,
        Op.BARRIER: _barrier,
        Op.PREFETCH: _prefetch,
        Op.STACK: _stack,
        Op.EXTRACT: _extract,
        Op.SHUFFLE: _shuffle,
    }
)


__all__ = ["Fault", "check_node", "fault_of", "is_effect", "refuse", "storage_of"]
