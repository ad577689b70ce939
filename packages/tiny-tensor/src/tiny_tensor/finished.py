"""What has been computed already: a graph node leads to the memory that holds its elements."""

from __future__ import annotations

from weakref import ref

from tiny_ir import UOp, rebuild


class Finished:
    """A memory of results that lasts as long as somebody holds the node that was computed."""

    def __init__(self) -> None:
        # By identity: that is five times as fast as a dictionary with weak keys.
        self._results: dict[int, tuple[ref[UOp], UOp]] = {}

    def add(self, node: UOp, result: UOp) -> None:
        """Remember that `result`, a view of memory, holds the elements of `node`."""
        identity = id(node)
        results = self._results

        def forget(_: object) -> None:
            results.pop(identity, None)

        results[identity] = (ref(node, forget), result)

    def follow(self, node: UOp, same: UOp) -> None:
        """What is known of `node` holds for `same`, which has the same elements."""
        found = self._results.get(id(node))
        if found is not None and id(same) not in self._results:
            self.add(same, found[1])

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
            found = results.get(id(node))
            if found is not None:
                # A result may itself be a version that has been written since.
                done[node] = found[1] if found[1] is node else self.resolve(found[1], done)
                continue
            missing = [source for source in node.src if source not in done]
            if missing:
                stack += missing
                continue
            stack.pop()
            src = tuple([done[source] for source in node.src])
            done[node] = node if src == node.src else rebuild(node, src)
        return done[root]
