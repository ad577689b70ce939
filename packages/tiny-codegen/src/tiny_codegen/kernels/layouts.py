"""In which order the memory of a recurrence's outputs is laid out: as its readers look at it.

What a recurrence along the last axis stores at each step then lies beside what it stored before,
and a result that somebody stores is written where it is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tiny_codegen.kernels.views import flat_offset
from tiny_ir import Op, Shape, Size, UOp, simplify, size_node


@dataclass(frozen=True, slots=True)
class Layout:
    """An order of axes in memory.

    Attributes:
        order: the axes, outermost first.
        flipped: those that are walked from their end.
    """

    order: tuple[int, ...]
    flipped: frozenset[int]

    def offset(self, indices: Sequence[UOp], shape: Shape) -> UOp:
        """Where an element lies."""
        places = [
            simplify(size_node(size) - 1 - index) if axis in self.flipped else index
            for axis, (index, size) in enumerate(zip(indices, shape, strict=True))
        ]
        sizes = tuple([shape[axis] for axis in self.order])
        return flat_offset([places[axis] for axis in self.order], sizes)


def row_major(rank: int) -> Layout:
    """The layout of memory that nothing else is said about."""
    return Layout(tuple(range(rank)), frozenset())


@dataclass(frozen=True, slots=True)
class Layouts:
    """The layouts of a graph.

    Attributes:
        of_node: for each GET that has a layout of its own.
        shown: the view of such a GET that lies in memory as it is.
    """

    of_node: Mapping[UOp, Layout]
    shown: Mapping[UOp, UOp]

    @staticmethod
    def of(nodes: Sequence[UOp]) -> Layouts:
        """Follow the one way in which each output of a recurrence is looked at."""
        users: dict[UOp, list[UOp]] = {}
        for node in nodes:
            for source in dict.fromkeys(node.src):
                users.setdefault(source, []).append(node)
        of_node: dict[UOp, Layout] = {}
        shown: dict[UOp, UOp] = {}
        for node in nodes:
            if node.op is Op.GET and _is_output(node):
                layout, view = _followed(node, users)
                if view is not node:
                    of_node[node], shown[view] = layout, node
        return Layouts(of_node, shown)

    def offset(self, node: UOp, indices: Sequence[UOp]) -> UOp:
        """Where in the memory of a node an element lies."""
        layout = self.of_node.get(node) or row_major(len(indices))
        return layout.offset(indices, node.shape)

    def made_by(self, value: UOp) -> UOp:
        """The node in whose memory a value lies as it is."""
        while value not in self.shown and value.op is Op.RESHAPE:
            value = value.src[0]
        return self.shown.get(value, value)


def without_ones(shape: Shape) -> list[Size]:
    """The sizes that are not 1."""
    return [size for size in shape if not (isinstance(size, int) and size == 1)]


def _is_output(get: UOp) -> bool:
    made = get.src[0]
    return made.op is Op.SCAN and get.arg >= made.arg.states


def _followed(get: UOp, users: Mapping[UOp, list[UOp]]) -> tuple[Layout, UOp]:
    """The order in which an output is looked at, and the view that shows it."""
    view = get
    axes: list[int | None] = list(range(len(get.shape)))
    flipped: set[int] = set()
    while len(users.get(view, ())) == 1:
        (user,) = users[view]
        if user.op is Op.RESHAPE and without_ones(user.shape) == without_ones(view.shape):
            rest = iter([a for a, n in zip(axes, view.shape, strict=True) if without_ones((n,))])
            axes = [next(rest) if without_ones((size,)) else None for size in user.shape]
        elif user.op is Op.PERMUTE:
            axes = [axes[axis] for axis in user.arg]
        elif user.op is Op.FLIP:
            flipped ^= {axis for at in user.arg if (axis := axes[at]) is not None}
        else:
            break
        view = user
    order = [axis for axis in axes if axis is not None]
    order += [axis for axis in range(len(get.shape)) if axis not in order]
    return Layout(tuple(order), frozenset(flipped)), view
