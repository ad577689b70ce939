"""Numbers the arguments and loops of a kernel from 0, so that equal kernels are one node."""

from __future__ import annotations

from tiny_codegen.buffers import stored_to
from tiny_ir import Op, ParamArg, RangeArg, UOp, make, rebuild, toposort


def canonical(sink: UOp) -> tuple[UOp, tuple[int, ...]]:
    """Return the kernel with its own numbers, and the slots of the graph its arguments stand for.

    Arguments that are written come first, then those that are read, in the order of the graph.
    """
    nodes = toposort((sink,))
    params = list(dict.fromkeys(stored_to(nodes) + [node for node in nodes if node.op is Op.PARAM]))
    axes = sorted(
        (node for node in nodes if node.op is Op.RANGE), key=lambda axis: int(axis.arg.number)
    )
    numbers = {axis: number for number, axis in enumerate(axes)}
    done: dict[UOp, UOp] = {
        param: make(Op.PARAM, param.dtype, (), ParamArg(slot, param.arg.elements, ""))
        for slot, param in enumerate(params)
    }
    for node in nodes:
        if node in done:
            continue
        src = tuple([done[source] for source in node.src])
        if node.op is Op.RANGE:
            done[node] = make(Op.RANGE, None, src, RangeArg(numbers[node], node.arg.kind))
        else:
            done[node] = node if src == node.src else rebuild(node, src)
    return done[sink], tuple(int(param.arg.slot) for param in params)
