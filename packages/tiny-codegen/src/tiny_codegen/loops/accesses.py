"""How a kernel walks memory: the stride of every load and store along every loop axis."""

from __future__ import annotations

from tiny_ir import Op, UOp, simplify, substitute, toposort


def stride(expression: UOp, axis: UOp) -> int | None:
    """How much an index grows with one step of an axis; None where that is not constant."""
    total = 0
    terms = [(expression, 1)]
    while terms:
        term, factor = terms.pop()
        if term is axis:
            total += factor
        elif term.op is Op.ADD:
            terms += [(source, factor) for source in term.src]
        elif term.op is Op.MUL and term.src[1].op is Op.CONST:
            terms.append((term.src[0], factor * int(term.src[1].arg)))
        elif term.src and term.op is not Op.RANGE and axis in toposort((term,)):
            return _difference(expression, axis)
    return total


def _difference(expression: UOp, axis: UOp) -> int | None:
    """The stride of an expression that is no plain sum along the axis."""
    difference = simplify(substitute(expression, {axis: axis + 1}) - expression)
    return int(difference.arg) if difference.op is Op.CONST else None


def loads_of(root: UOp) -> list[UOp]:
    """The INDEX nodes that a kernel reads."""
    nodes = toposort((root,))
    read = {
        source
        for node in nodes
        for source in (node.src[1:] if node.op is Op.STORE else node.src)
        if source.op is Op.INDEX
    }
    return [node for node in nodes if node in read]


def stores_of(root: UOp) -> list[UOp]:
    """The STORE nodes of a kernel that write memory."""
    nodes = toposort((root,))
    return [node for node in nodes if node.op is Op.STORE and node.src[0].op is Op.INDEX]
