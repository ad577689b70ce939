"""What has been computed already: a graph node leads to the memory that holds its elements."""

from __future__ import annotations

from weakref import WeakSet, ref

from tiny_ir import Op, UOp, rebuild


class Finished:
    """A memory of results.

    It keeps neither the node that was computed nor the result alive. A result lasts as long as a
    tensor has it; a constant may be the same node as one in a cached graph, and lasts forever.
    """

    def __init__(self) -> None:
        # By identity: that is five times as fast as a dictionary with weak keys.
        self._results: dict[int, tuple[ref[UOp], ref[UOp]]] = {}
        self._overwritten: WeakSet[UOp] = WeakSet()

    def add(self, node: UOp, result: UOp) -> None:
        """Remember that `result`, a view of memory, holds the elements of `node`."""
        identity = id(node)
        results = self._results

        def forget(_: object) -> None:
            results.pop(identity, None)

        results[identity] = (ref(node, forget), ref(result))

    def result_of(self, node: UOp) -> UOp | None:
        """The view of memory that holds the elements of a node; None where it was not computed."""
        found = self._results.get(id(node))
        result = None if found is None else found[1]()
        if result is None or _buffer_below(result) in self._overwritten:
            return None
        return result

    def overwrite(self, buffer: UOp) -> None:
        """The memory of a BUFFER belongs to a newer version now."""
        self._overwritten.add(buffer)

    def is_overwritten(self, buffer: UOp) -> bool:
        """Whether a BUFFER had memory that a newer version has now."""
        return buffer in self._overwritten

    def resolve(self, root: UOp, done: dict[UOp, UOp]) -> UOp:
        """The graph with what is finished replaced by the memory that holds it.

        Args:
            root: the graph.
            done: what this call, and others with the same dictionary, have replaced.
        """
        results = self._results
        stack = [root]
        while stack:
            node = stack[-1]
            if node in done:
                stack.pop()
                continue
            found = self.result_of(node) if id(node) in results else None
            if found is not None:
                done[node] = found
                continue
            missing = [source for source in node.src if source not in done]
            if missing:
                stack += missing
                continue
            stack.pop()
            src = tuple([done[source] for source in node.src])
            if src == node.src:
                done[node] = node
                continue
            # What is computed is a graph whose finished parts are memory already.
            current = rebuild(node, src)
            found = self.result_of(current) if id(current) in results else None
            done[node] = current if found is None else found
        return done[root]


def _buffer_below(node: UOp) -> UOp:
    while node.op is not Op.BUFFER:
        node = node.src[0]
    return node
