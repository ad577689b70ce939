"""Kernels: where ops move positions, and the line of nodes that a Program is."""

from collections.abc import Callable

from tiny_ir import AxisKind, Op, RangeArg, UOp, bounds, dtypes, make, product, size_node, toposort
from tiny_plugin import Argument, Program, Target, Variable


def axes_of(node: UOp) -> list[UOp]:
    args = [RangeArg(axis, AxisKind.LOOP) for axis in range(len(node.shape))]
    return [make(Op.RANGE, None, (size_node(node.shape[arg.number]),), arg) for arg in args]


def offset_of(at: list[UOp], node: UOp) -> tuple[UOp, list[UOp]]:
    """The offset of a position in row-major memory, and what must hold where it may be outside."""
    offset, inside = size_node(0), size_node(0).eq(0)
    for index, size in zip(at, node.shape, strict=True):
        offset = offset * size + index
        inside = inside & (index >= 0) & (index < size)
    return offset, [] if bounds(inside)[0] else [inside]


def moved(node: UOp, at: list[UOp], read: Callable[[UOp, list[UOp]], UOp]) -> list[UOp]:
    """Where an op reads its first source, or writes an element of it; `read` reads the others."""
    arg, src, old, axes = node.arg, node.src, node.src[0].shape, range(len(node.src[0].shape))
    match node.op:
        case Op.RESHAPE:
            flat = offset_of(at, node)[0]
            return [flat.alu(Op.CDIV, product(old[n + 1 :])).alu(Op.CMOD, old[n]) for n in axes]
        case Op.EXPAND:
            return [size_node(0) if old[n] == 1 else at[n] for n in axes]
        case Op.PERMUTE:
            return [at[arg.index(n)] for n in axes]
        case Op.PAD:
            return [at[n] - read(src[1 + n], at) for n in axes]
        case Op.SHRINK:
            return [at[n] + read(src[1 + n], at) for n in axes]
        case Op.FLIP:
            return [old[n] - 1 - at[n] if n in arg else at[n] for n in axes]
        case Op.WINDOW | Op.FOLD:
            slid = at[arg.axis] * arg.stride + at[-1] * arg.dilation
            return [slid if n == arg.axis else i for n, i in enumerate(at[:-1])]
        case Op.REDUCE:
            return [i for n, i in enumerate(at) if n not in arg.axes]
        case Op.INDEX:
            given = [read(source, at).cast(dtypes.weakint) for source in src[1:]]
            return [*given, *at[len(node.shape) - len(old) + len(given) :]]
    return at


def program_of(kernel: UOp, target: Target) -> Program:
    """Put the nodes of a kernel in a line, all inside its loops, and give indices 64 bits."""
    done: dict[UOp, UOp] = {}
    for node in toposort((*kernel.src[0].src[1:], kernel)):
        dtype = dtypes.int64 if node.dtype is dtypes.weakint else node.dtype
        done[node] = make(node.op, dtype, tuple(done[source] for source in node.src), node.arg)
    line = tuple(dict.fromkeys(done.values()))
    read = {node.src[0].src[0] for node in line if node.op is Op.LOAD}
    params = sorted((n for n in line if n.op is Op.PARAM), key=lambda n: int(n.arg.slot))
    arguments = [Argument(p.dtype, p.arg.elements, p in read, p.arg.slot == 0) for p in params]
    variables = [Variable(*node.arg) for node in line if node.op is Op.VARIABLE]
    return Program(kernel.arg.name, target, line, (), (), tuple(arguments), tuple(variables))
