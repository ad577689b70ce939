"""A graph loses what is particular to one run: buffers become numbered slots, numbers variables.

What only differentiation looks at is left out.

before   SINK(STORE(BUFFER 7012, ADD(BUFFER 7003, CAST(BIND(position, 96)))))
after    SINK(STORE(PARAM 1, ADD(PARAM 0, CAST(VARIABLE v0))))
"""

from __future__ import annotations

from tiny_ir import ArgumentError, Op, ParamArg, UOp, VariableArg, make, rebuild, toposort
from tiny_plugin import record


@record(frozen=True, slots=True)
class Canonical:
    """A graph that is one node for all runs that do the same, and what this run puts into it.

    Args:
        graph: the SINK, with PARAMs for buffers and VARIABLEs for bound numbers.
        buffers: the BUFFER of each slot.
        binds: for each variable, by its name, the BIND that it stands for.
    """

    graph: UOp
    buffers: tuple[UOp, ...]
    binds: dict[str, UOp]

    def values(self) -> dict[str, int]:
        """The number of each variable, by its name."""
        return {name: int(bind.src[1].arg) for name, bind in self.binds.items()}


def canonical_of(sink: UOp) -> Canonical:
    """Number buffers and bound values in the order in which the graph meets them.

    Raises:
        ArgumentError: a variable is not bound to a number.
    """
    done: dict[UOp, UOp] = {}
    buffers: list[UOp] = []
    binds: dict[str, UOp] = {}
    for node in toposort((sink,)):
        if node.op is Op.BUFFER:
            arg = ParamArg(len(buffers), node.arg.elements, node.arg.device)
            done[node] = make(Op.PARAM, node.dtype, (), arg)
            buffers.append(node)
        elif node.op is Op.BIND:
            name = f"v{len(binds)}"
            binds[name] = node
            limits = VariableArg(name, node.src[0].arg.minimum, node.src[0].arg.maximum)
            done[node] = make(Op.VARIABLE, node.dtype, (), limits)
        elif node.op is Op.CONTIGUOUS_BACKWARD:
            done[node] = done[node.src[0]]
        else:
            src = tuple([done[source] for source in node.src])
            done[node] = node if src == node.src else rebuild(node, src)
    free = [node for node in toposort((done[sink],)) if node.op is Op.VARIABLE]
    for node in free:
        if node.arg.name not in binds:
            raise ArgumentError(
                f"the variable {node.arg.name!r} has no value.",
                why="a graph runs with numbers.",
                fix=f"bind it: {node.arg.name}.bind(n).",
            )
    return Canonical(done[sink], tuple(buffers), binds)
