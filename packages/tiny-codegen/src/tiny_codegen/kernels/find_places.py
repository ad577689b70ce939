"""Tells each node of a graph at which places it is needed, consumers first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from tiny_codegen.kernels.fuse import Work, is_free, is_stored, work_of
from tiny_codegen.kernels.layouts import Layouts
from tiny_codegen.kernels.memory_versions import (
    MEMORY,
    TRANSPARENT,
    MemoryVersions,
    direct_stores,
    whole_stores,
)
from tiny_codegen.kernels.operands import MUCH_USED, uses_of_operands
from tiny_codegen.kernels.places import Place
from tiny_codegen.kernels.recurrence import Recurrence, carried_nodes
from tiny_codegen.kernels.views import (
    TRUE,
    ZERO,
    Indices,
    elements_of,
    source_position,
)
from tiny_ir import (
    MOVEMENT,
    AxisKind,
    DType,
    Op,
    ParamArg,
    RangeArg,
    Shape,
    UnsupportedError,
    UOp,
    make,
    simplify,
    size_node,
)

_NEVER_CARRIED = (Op.LOOP, Op.SCAN, Op.SCATTER, Op.COPY, Op.CALL)
TABLES = (*MEMORY, Op.CONST, Op.STATE)
"""What a gather reads from without memory of its own."""


@dataclass(frozen=True, slots=True)
class Temporary:
    """Memory for one value of the graph."""

    slot: int
    dtype: DType
    elements: int
    device: str


class FindPlaces:
    """The first pass: who needs which element of what, and what gets memory of its own."""

    def __init__(self, nodes: list[UOp], default_device: str, fuses: bool) -> None:
        self.nodes = nodes
        self._fuses = fuses
        self.versions = MemoryVersions(nodes)
        self.temporaries: list[Temporary] = []
        self._default_device = default_device
        self._places: dict[UOp, dict[Place, None]] = {node: {} for node in nodes}
        self._memory: dict[UOp, UOp] = {}  # a value -> the PARAM that holds it
        self._forced: set[UOp] = set()
        self._reduce_ranges: dict[tuple[UOp, Place], tuple[UOp, ...]] = {}
        self._next_range = 0
        self._next_slot = 1 + max(
            (node.arg.slot for node in nodes if node.op is Op.PARAM), default=-1
        )
        self._devices = devices_of(nodes)
        self._stores = [node for node in nodes if node.op is Op.STORE]
        self._layouts = Layouts.of(nodes)
        self._whole = whole_stores(self._stores, self.versions, self._layouts)
        self._direct = direct_stores(nodes, self._stores, self._layouts)
        self._ranges_of: dict[UOp, tuple[UOp, ...]] = {}
        self._recurrences: dict[UOp, Recurrence] = {}
        self._calls: set[UOp] = set()
        self._contractions: dict[UOp, UOp] = {}  # a kernel -> the one it computes
        self._first_ranges: dict[tuple[UOp, int], tuple[UOp, ...]] = {}
        self._carried = carried_nodes(nodes)

    # The first pass: who needs what, and where.

    def find_places(self) -> None:
        """Collect the places of every node, consumers first, and decide which are stored."""
        work: dict[UOp, Work] = {}
        users = Counter(source for node in self.nodes for source in node.src)
        for node in self.nodes:
            # A reduction that several nodes use is stored, so none of them repeats it.
            below = [work[s].of_stored() if users[s] > 1 else work[s] for s in node.src]
            work[node] = work_of(node, below)
        for store in self._stores:
            view, value = store.src[0], store.src[1]
            if 0 in view.shape:
                continue
            made = self._layouts.made_by(value)
            if self._direct.get(made) is store:
                self._need(made, Place(store, (), TRUE, ()))
                continue
            indices = self._new_ranges(view.shape, AxisKind.LOOP)
            self._ranges_of[store] = indices
            self._need(value, Place(store, indices, TRUE, indices))
        for node in reversed(self.nodes):
            places = list(self._places[node])
            if not places or node.op in MEMORY or node.op is Op.STORE:
                continue
            if node in self._carried and node.op in _NEVER_CARRIED:
                raise not_carried(node)
            if node.op in (Op.LOOP, Op.SCAN):
                asked = {get.arg for get in self.nodes if get.op is Op.GET and get.src[0] is node}
                self._recurrences[node] = Recurrence.of(node, asked, self._new_ranges)
                needs = self._recurrences[node].places()
            elif node.op is Op.CALL:
                self._calls.add(node)
                needs = self._arguments(node)
            else:
                computed_at = self._computed_at(node, places, work[node])
                needs = [need for place in computed_at for need in self._sources(node, place)]
            for source, at in needs:
                self._need(source, at)

    def _computed_at(self, node: UOp, places: list[Place], work: Work) -> list[Place]:
        """The places at which a node is computed; elsewhere it is read from its memory."""
        whole = self._whole.get(node)
        if whole is not None:
            is_read = node in self._forced or not self._is_view(node)
            if is_read and any(place.kernel is not whole for place in places):
                # The value has memory anyway: every other reader reads it there.
                self._memory[node] = self.versions.readable_after(whole.src[0], whole)
                return [place for place in places if place.kernel is whole]
            return places
        is_forced = node in self._forced
        is_good = is_stored(node, places, work) or not (self._fuses or is_free(node))
        is_good = is_good or self._is_second_contraction(node, places[0])
        if not is_forced and (node in self._carried or not is_good):
            return places
        if node in self._carried and node.op is not Op.CONTIGUOUS:
            raise not_carried(node)
        self._store(node)
        if node.op is Op.GET:
            return [Place(node, (), TRUE, ())]
        if 0 in node.shape:
            return []
        ranges = self._ranges_of[node] = self._new_ranges(node.shape, AxisKind.LOOP)
        return [Place(node, ranges, TRUE, ranges)]

    def _is_second_contraction(self, node: UOp, place: Place) -> bool:
        """Whether a kernel computes another reduction of much used operands: each has its tiles."""
        if node.op is not Op.REDUCE or uses_of_operands(node.src[0]) < MUCH_USED:
            return False
        return self._contractions.setdefault(place.kernel, node) is not node

    def _need(self, node: UOp, place: Place) -> None:
        self._places[node][place] = None

    def _at(self, node: UOp, place: Place) -> Place:
        """Where the source of a node is computed: further out, where EXPAND repeats it."""
        if node.op is not Op.EXPAND or place.kernel.op in (Op.LOOP, Op.SCAN, Op.CALL, Op.SCATTER):
            return place
        return place.hoisted()

    def _is_view(self, node: UOp) -> bool:
        while node.op in MOVEMENT or node.op in TRANSPARENT:
            node = node.src[0]
        return node.op in TABLES

    def _new_memory(self, dtype: DType, elements: int, device: str) -> UOp:
        slot = self._next_slot
        self._next_slot += 1
        elements = max(1, elements)
        self.temporaries.append(Temporary(slot, dtype, elements, device))
        return make(Op.PARAM, dtype, (), ParamArg(slot, elements, device))

    def _store(self, node: UOp) -> None:
        device = self._device_of(node)
        direct = self._direct.get(node)
        if direct is not None:
            self._memory[node] = self.versions.param_of(direct.src[0])
        else:
            self._memory[node] = self._new_memory(node.dtype, elements_of(node.shape), device)
        if node.op is Op.COPY and not self._is_whole(node.src[0]):
            self._forced.add(node.src[0])

    def _is_whole(self, node: UOp) -> bool:
        while node.op is Op.RESHAPE or node.op in TRANSPARENT:
            node = node.src[0]
        return node.op in MEMORY

    def _sources(self, node: UOp, place: Place) -> Iterable[tuple[UOp, Place]]:
        """The sources of one element of `node`, and where each is needed."""
        op = node.op
        if op in MOVEMENT:
            indices, valid = source_position(node, place.indices)
            at = place._replace(indices=indices, valid=place.valid & valid)
            return [(node.src[0], self._at(node, at))]
        if op is Op.REDUCE:
            ranges = self._ranges_for(node, place)
            inner = iter(ranges)
            outer = iter(place.indices)
            axes = node.arg.axes
            indices = tuple(
                next(inner) if axis in axes else next(outer)
                for axis in range(len(node.src[0].shape))
            )
            scope = place.scope + ranges
            return [(node.src[0], place._replace(indices=indices, scope=scope, is_reduced=True))]
        if op is Op.FOLD:
            indices, valid, ranges = self._fold_position(node, place)
            scope = place.scope + ranges
            valid = place.valid & valid
            return [
                (
                    node.src[0],
                    place._replace(indices=indices, valid=valid, scope=scope, is_folded=True),
                )
            ]
        if op is Op.INDEX:
            return self._index_sources(node, place)
        if op is Op.COPY:
            return [] if self._is_whole(node.src[0]) else [(node.src[0], place)]
        if op is Op.SCATTER:
            return self._scatter_sources(node, place)
        if op is Op.GET:
            return [(node.src[0], place)]
        if op in MEMORY:
            return []
        return [
            (source, place if source.shape else place._replace(indices=())) for source in node.src
        ]

    def _arguments(self, call: UOp) -> list[tuple[UOp, Place]]:
        """What a called kernel takes, and where: what it only reads is in memory, row by row."""
        written = {result.slot for result in call.arg.results}
        needs: list[tuple[UOp, Place]] = []
        for slot, source in zip(call.arg.inputs, call.src, strict=True):
            if slot in written:
                ranges = self._new_ranges(source.shape, AxisKind.LOOP)
                self._first_ranges[(call, slot)] = ranges
                needs.append((source, Place(call, ranges, TRUE, ranges)))
            elif not self._is_whole(source):
                self._forced.add(source)
                needs.append((source, Place(call, (ZERO,) * len(source.shape), TRUE, ())))
        return needs

    def _index_sources(self, node: UOp, place: Place) -> list[tuple[UOp, Place]]:
        table, *positions = node.src
        rank = len(node.shape) - (len(table.shape) - len(positions))
        at = place._replace(indices=place.indices[:rank])
        needed = [(source, at if source.shape else at._replace(indices=())) for source in positions]
        if not self._is_view(table) and table not in self._whole:
            self._forced.add(table)
        if not self._is_view(table):
            needed.append((table, place._replace(indices=(ZERO,) * len(table.shape))))
        return needed

    def _scatter_sources(self, node: UOp, place: Place) -> list[tuple[UOp, Place]]:
        base, value, *positions = node.src
        ranges = self._ranges_for(node, place)
        rank = len(ranges)
        needed = [(base, place)]
        inner = place._replace(indices=ranges, scope=ranges)
        needed.append((value, inner if value.shape else inner._replace(indices=())))
        for source in positions:
            depth = len(source.shape)
            needed.append((source, inner._replace(indices=ranges[:depth])))
        assert rank == len(value.shape) or not value.shape
        return needed

    def _ranges_for(self, node: UOp, place: Place) -> tuple[UOp, ...]:
        """The ranges that a REDUCE, FOLD or SCATTER at one place walks over."""
        key = (node, place)
        ranges = self._reduce_ranges.get(key)
        if ranges is None:
            if node.op is Op.REDUCE:
                sizes: Shape = tuple(node.src[0].shape[axis] for axis in node.arg.axes)
                ranges = self._new_ranges(sizes, AxisKind.REDUCE, keep_ones=True)
            elif node.op is Op.FOLD:
                ranges = self._new_ranges(node.src[0].shape[-1:], AxisKind.REDUCE, keep_ones=True)
            else:
                depth = max(len(position.shape) for position in node.src[2:])
                shape = node.src[1].shape
                ranges = self._new_ranges(shape[:depth], AxisKind.SERIAL) + self._new_ranges(
                    shape[depth:], AxisKind.LOOP
                )
            self._reduce_ranges[key] = ranges
        return ranges

    def _fold_position(self, node: UOp, place: Place) -> tuple[Indices, UOp, tuple[UOp, ...]]:
        ranges = self._ranges_for(node, place)
        axis, _, stride, dilation = node.arg
        shifted = simplify(place.indices[axis] - ranges[0] * dilation)
        count = size_node(node.src[0].shape[axis])
        valid = simplify(shifted >= 0) & simplify(shifted < count * stride)
        if stride != 1:
            valid = valid & simplify((shifted % stride).eq(0))
        indices = list(place.indices)
        indices[axis] = simplify(shifted // stride)
        return (*indices, ranges[0]), valid, ranges

    def _new_ranges(
        self, shape: Shape, kind: AxisKind, *, keep_ones: bool = False
    ) -> tuple[UOp, ...]:
        ranges: list[UOp] = []
        for size in shape:
            count = simplify(size_node(size))
            if count.op is Op.CONST and count.arg == 1 and not keep_ones:
                ranges.append(ZERO)
                continue
            arg = RangeArg(self._next_range, kind)
            ranges.append(make(Op.RANGE, None, (count,), arg))
            self._next_range += 1
        return tuple(ranges)

    def _device_of(self, node: UOp) -> str:
        return self._devices[node] or self._default_device


def devices_of(nodes: Iterable[UOp]) -> dict[UOp, str | None]:
    """Where each node's value is computed: where its first source lives that lives anywhere."""
    devices: dict[UOp, str | None] = {}
    for node in nodes:
        if node.op is Op.PARAM:
            devices[node] = node.arg.device
        elif node.op is Op.COPY:
            devices[node] = node.arg
        elif node.op is Op.CALL:
            devices[node] = node.arg.device
        else:
            known = (devices[source] for source in node.src)
            devices[node] = next((device for device in known if device is not None), None)
    return devices


def not_carried(node: UOp) -> UnsupportedError:
    """The error about a node that cannot stand in the body of a recurrence."""
    return UnsupportedError(
        f"a {node.op.name} of shape {node.shape} stands inside a recurrence.",
        why="it needs memory of its own at every step, which a loop body cannot have.",
        fix="compute it before the recurrence, or from values that do not depend on it; a SCATTER "
        "may be the next value of the state that it scatters into.",
    )
