"""A graph loses what is particular to one run: buffers become numbered slots, numbers variables.

What only differentiation looks at is left out.

before   SINK(STORE(BUFFER 7012, ADD(BUFFER 7003, CAST(BIND(position, 96)))))
after    SINK(STORE(PARAM 1, ADD(PARAM 0, CAST(VARIABLE v0))))
"""

from __future__ import annotations

from tiny_ir import ArgumentError, Op, ParamArg, UOp, VariableArg, make, rebuild, toposort
from tiny_plugin import record

ONLY_MARKS = (Op.CUSTOM, Op.CONTIGUOUS_BACKWARD)
"""Their value is that of their first source; the rest is for differentiation."""


@record(frozen=True, slots=True)
class Canonical:
    """A graph that is one node for all runs that do the same, and what this run puts into it.

    Args:
        graph: the SINK, with PARAMs for buffers and VARIABLEs for bound numbers.
        buffers: the BUFFER of each slot.
        binds: for each variable, by its name, the BIND that it stands for.
        marked: the same with what differentiation looks at; the graph itself where it is nothing.
        inputs: the BUFFER of each slot of `marked`: those of `buffers`, and more where a CUSTOM
            has an input that it does not need.
        marks: what the marks in `marked` stand for, by their numbers there.
    """

    graph: UOp
    buffers: tuple[UOp, ...]
    binds: dict[str, UOp]
    marked: UOp
    inputs: tuple[UOp, ...]
    marks: tuple[UOp, ...]

    def values(self) -> dict[str, int]:
        """The number of each variable, by its name."""
        return {name: int(bind.src[1].arg) for name, bind in self.binds.items()}


def canonical_of(sink: UOp) -> Canonical:
    """Number buffers and bound values in the order in which the graph meets them.

    Raises:
        ArgumentError: a variable is not bound to a number, or a placeholder has no data.
    """
    numbering = _Numbering()
    plain = _without_marks(sink)
    graph = numbering.numbered(plain)
    buffers, binds = tuple(numbering.buffers), dict(numbering.binds)
    marked = graph if plain is sink else numbering.numbered(sink)
    return Canonical(
        graph, buffers, binds, marked, tuple(numbering.buffers), tuple(numbering.marks)
    )


def _without_marks(sink: UOp) -> UOp:
    """The graph with its values in the place of marks."""
    nodes = toposort((sink,))
    if not any(node.op in ONLY_MARKS for node in nodes):
        return sink
    done: dict[UOp, UOp] = {}
    for node in nodes:
        if node.op in ONLY_MARKS:
            done[node] = done[node.src[0]]
        else:
            src = tuple([done[source] for source in node.src])
            done[node] = node if src == node.src else rebuild(node, src)
    return done[sink]


class _Numbering:
    """Slots and variable names, as graphs meet what they stand for."""

    def __init__(self) -> None:
        self.buffers: list[UOp] = []
        self.binds: dict[str, UOp] = {}
        self.marks: list[UOp] = []
        self._done: dict[UOp, UOp] = {}

    def numbered(self, sink: UOp) -> UOp:
        """A graph over PARAMs and VARIABLEs."""
        done = self._done
        for node in toposort((sink,)):
            if node in done:
                continue
            if node.op is Op.PARAM:
                raise ArgumentError(
                    f"the placeholder for argument {node.arg.slot} has no data.",
                    why="it stands for a tensor that is given when the body is called.",
                    fix="pass what was computed from it as fxn=... to call().",
                )
            if node.op is Op.BUFFER:
                arg = ParamArg(len(self.buffers), node.arg.elements, node.arg.device)
                done[node] = make(Op.PARAM, node.dtype, (), arg)
                self.buffers.append(node)
            elif node.op is Op.BIND:
                name = f"v{len(self.binds)}"
                self.binds[name] = node
                limits = VariableArg(name, node.src[0].arg.minimum, node.src[0].arg.maximum)
                done[node] = make(Op.VARIABLE, node.dtype, (), limits)
            elif node.op is Op.CONTIGUOUS_BACKWARD and node.arg is not None:
                done[node] = make(node.op, None, (done[node.src[0]],), len(self.marks))
                self.marks.append(node)
            else:
                src = tuple([done[source] for source in node.src])
                done[node] = node if src == node.src else rebuild(node, src)
        free = [node for node in toposort((done[sink],)) if node.op is Op.VARIABLE]
        for node in free:
            if node.arg.name not in self.binds:
                raise ArgumentError(
                    f"the variable {node.arg.name!r} has no value.",
                    why="a graph runs with numbers.",
                    fix=f"bind it: {node.arg.name}.bind(n).",
                )
        return done[sink]
