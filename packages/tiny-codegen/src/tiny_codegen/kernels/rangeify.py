"""Movement to index: turns a graph of arrays into kernels of loops and computed addresses.

before   SINK(STORE(PARAM 0, REDUCE(MUL(EXPAND(PARAM 1), PARAM 2), axis 1)))
after    SINK(END(STORE(INDEX(PARAM 0, i), REDUCE(MUL(INDEX(PARAM 1, j), INDEX(PARAM 2, k)), j)), i)),
         where k is i*n + j

Two passes over one set of rules. The first goes from the outputs to the inputs and tells each node
at which places it is needed, so that `fuse.is_stored` can decide what gets memory of its own. The
second builds, for each value with memory and each STORE, the expression of one element.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tiny_codegen.buffers import memory_of, stored_to
from tiny_codegen.identities import identity_of
from tiny_codegen.kernels.fuse import Work, is_stored, work_of
from tiny_codegen.kernels.kernel import Kernel, Version, slot_of
from tiny_codegen.kernels.places import Place
from tiny_codegen.kernels.recurrence import Recurrence, carried_nodes
from tiny_codegen.kernels.views import (
    TRUE,
    ZERO,
    Indices,
    elements_of,
    flat_offset,
    source_position,
)
from tiny_codegen.kernels.walk_steps import kernel_of_steps
from tiny_ir import (
    ELEMENTWISE,
    MOVEMENT,
    AxisKind,
    DType,
    KernelArg,
    Op,
    ParamArg,
    RangeArg,
    Shape,
    UnsupportedError,
    UOp,
    bounds,
    const,
    dtypes,
    make,
    rebuild,
    simplify,
    size_node,
    substitute,
    toposort,
)

_MEMORY = (Op.PARAM, Op.AFTER)
_NEVER_CARRIED = (Op.LOOP, Op.SCAN, Op.SCATTER, Op.COPY)
_TABLES = (*_MEMORY, Op.CONST, Op.STATE)
_TRANSPARENT = (Op.CONTIGUOUS, Op.DETACH, Op.CONTIGUOUS_BACKWARD)


@dataclass(frozen=True, slots=True)
class Temporary:
    """Memory for one value of the graph."""

    slot: int
    dtype: DType
    elements: int
    device: str


@dataclass(slots=True)
class Kernels:
    """What rangeify yields: kernels in no particular order, and the memory they need."""

    kernels: list[Kernel] = field(default_factory=list)
    temporaries: list[Temporary] = field(default_factory=list)
    versions: dict[UOp, Version] = field(default_factory=dict)


def rangeify(sink: UOp, default_device: str) -> Kernels:
    """Split a graph of effects into kernels.

    Args:
        sink: a SINK over STORE nodes, with numbered PARAMs for memory.
        default_device: where values live that depend on no memory at all.
    """
    walk = _Rangeify(toposort((sink,)), default_device)
    walk.find_places()
    walk.build()
    return walk.result


class _Rangeify:
    def __init__(self, nodes: list[UOp], default_device: str) -> None:
        self.nodes = nodes
        self.result = Kernels()
        self._default_device = default_device
        self._places: dict[UOp, dict[Place, None]] = {node: {} for node in nodes}
        self._memory: dict[UOp, UOp] = {}  # a value -> the PARAM that holds it
        self._forced: set[UOp] = set()
        self._reduce_ranges: dict[tuple[UOp, Place], tuple[UOp, ...]] = {}
        self._built: dict[tuple[UOp, Place], UOp] = {}
        self._next_range = 0
        self._next_slot = 1 + max(
            (node.arg.slot for node in nodes if node.op is Op.PARAM), default=-1
        )
        self._next_version = -1
        self._devices: dict[UOp, str | None] = {}
        self._stores = [node for node in nodes if node.op is Op.STORE]
        self._whole = _whole_stores(self._stores)
        self._ranges_of: dict[UOp, tuple[UOp, ...]] = {}
        self._recurrences: dict[UOp, Recurrence] = {}
        self._carried = carried_nodes(nodes)

    # The first pass: who needs what, and where.

    def find_places(self) -> None:
        """Collect the places of every node, consumers first, and decide which are stored."""
        work: dict[UOp, Work] = {}
        for node in self.nodes:
            work[node] = work_of(node, [work[source] for source in node.src])
        for store in self._stores:
            view, value = store.src[0], store.src[1]
            if 0 in view.shape:
                continue
            indices = self._new_ranges(view.shape, AxisKind.LOOP)
            self._ranges_of[store] = indices
            self._need(value, Place(store, indices, TRUE, indices))
        for node in reversed(self.nodes):
            places = list(self._places[node])
            if not places or node.op in _MEMORY or node.op is Op.STORE:
                continue
            if node in self._carried and node.op in _NEVER_CARRIED:
                raise _not_carried(node)
            if node.op in (Op.LOOP, Op.SCAN):
                self._recurrences[node] = Recurrence.of(node, self._new_ranges)
                needs = self._recurrences[node].places()
            else:
                computed_at = self._computed_at(node, places, work[node])
                needs = [need for place in computed_at for need in self._sources(node, place)]
            for source, at in needs:
                self._need(source, at)

    def _computed_at(self, node: UOp, places: list[Place], work: Work) -> list[Place]:
        """The places at which a node is computed; elsewhere it is read from its memory."""
        whole = self._whole.get(node)
        if whole is not None:
            if any(place.kernel is not whole for place in places) and not self._is_view(node):
                # The value has memory anyway: every other reader reads it there.
                self._memory[node] = self._version_of(frozenset((whole,)), _base(whole.src[0]))
                return [place for place in places if place.kernel is whole]
            return places
        is_forced = node in self._forced
        if not is_forced and (node in self._carried or not is_stored(node, places, work)):
            return places
        if node in self._carried and node.op is not Op.CONTIGUOUS:
            raise _not_carried(node)
        self._store(node)
        if node.op is Op.GET:
            return [Place(node, (), TRUE, ())]
        if 0 in node.shape:
            return []
        ranges = self._ranges_of[node] = self._new_ranges(node.shape, AxisKind.LOOP)
        return [Place(node, ranges, TRUE, ranges)]

    def _need(self, node: UOp, place: Place) -> None:
        self._places[node][place] = None

    def _is_view(self, node: UOp) -> bool:
        while node.op in MOVEMENT or node.op in _TRANSPARENT:
            node = node.src[0]
        return node.op in _TABLES

    def _new_memory(self, dtype: DType, elements: int, device: str) -> UOp:
        slot = self._next_slot
        self._next_slot += 1
        elements = max(1, elements)
        self.result.temporaries.append(Temporary(slot, dtype, elements, device))
        return make(Op.PARAM, dtype, (), ParamArg(slot, elements, device))

    def _store(self, node: UOp) -> None:
        device = self._device_of(node)
        self._memory[node] = self._new_memory(node.dtype, elements_of(node.shape), device)
        if node.op is Op.COPY and not self._is_whole(node.src[0]):
            self._forced.add(node.src[0])

    def _is_whole(self, node: UOp) -> bool:
        while node.op is Op.RESHAPE or node.op in _TRANSPARENT:
            node = node.src[0]
        return node.op in _MEMORY

    def _sources(self, node: UOp, place: Place) -> Iterable[tuple[UOp, Place]]:
        """The sources of one element of `node`, and where each is needed."""
        op = node.op
        if op in MOVEMENT:
            indices, valid = source_position(node, place.indices)
            return [(node.src[0], place._replace(indices=indices, valid=place.valid & valid))]
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
        return [
            (source, place if source.shape else place._replace(indices=()))
            for source in node.src
            if source.op is not Op.STORE
        ]

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
        for at in toposort((node,)):
            if at in self._devices:
                continue
            if at.op is Op.PARAM:
                self._devices[at] = at.arg.device
            elif at.op is Op.COPY:
                self._devices[at] = at.arg
            else:
                found = [device for s in at.src if (device := self._devices[s]) is not None]
                self._devices[at] = found[0] if found else None
        return self._devices[node] or self._default_device

    # The second pass: one element of everything that has memory.

    def build(self) -> None:
        """Make the kernel of every stored value and of every STORE."""
        for node in self.nodes:
            if node in self._recurrences:
                self._build_recurrence(node)
            elif node in self._memory and node not in self._whole:
                self._build_stored(node)
            elif node.op is Op.STORE and node in self._ranges_of:
                self._build_store(node)

    def _build_stored(self, node: UOp) -> None:
        memory = self._memory[node]
        if node not in self._ranges_of:
            return  # no elements
        if node.op is Op.COPY:
            source = node.src[0]
            while source.op is Op.RESHAPE or source.op in _TRANSPARENT:
                if source in self._memory:
                    break
                source = source.src[0]
            held = self._memory.get(source)
            copied = held if held is not None else self._leaf(source)
            self._add(Kernel(None, (memory.arg.slot,), copies=copied))
            return
        ranges = self._ranges_of[node]
        place = Place(node, ranges, TRUE, ranges)
        offset = flat_offset(ranges, node.shape)
        if node.op is Op.SCATTER:
            self._build_scatter(node, place, memory, offset)
            return
        value = self._element(node, place, body=True)
        self._add_kernel(memory, offset, value, ranges)

    def _build_recurrence(self, node: UOp) -> None:
        results = {
            get.arg: memory
            for get, memory in self._memory.items()
            if get.op is Op.GET and get.src[0] is node
        }
        device = self._device_of(node)

        def new_memory(dtype: DType, elements: int) -> UOp:
            return self._new_memory(dtype, elements, device)

        sink = kernel_of_steps(self._recurrences[node], results, self._element, new_memory)
        if sink is not None:
            slots = tuple(slot_of(memory) for memory in stored_to(toposort((sink,))))
            self._add(Kernel(sink, slots))

    def _build_scatter(self, node: UOp, place: Place, memory: UOp, offset: UOp) -> None:
        base, value, *positions = node.src
        initial = self._element(base, place)
        self._add_kernel(memory, offset, initial, place.indices)
        ranges = self._ranges_for(node, place)
        inner = place._replace(indices=ranges, scope=ranges)
        indices = []
        valid = TRUE
        for axis, source in enumerate(positions):
            position = self._element(source, inner._replace(indices=ranges[: len(source.shape)]))
            index, inside = _checked(position, size_node(node.shape[axis]))
            indices.append(index)
            valid = valid & inside
        depth = max(len(source.shape) for source in positions)
        at = flat_offset((*indices, *ranges[depth:]), node.shape)
        address = _address(memory, at, valid)
        new = self._element(value, inner if value.shape else inner._replace(indices=()))
        if node.arg is not None:
            new = make(node.arg, None, (address, new))
        effect = address.store(new).end(*_loops(ranges))
        sink = make(Op.SINK, None, (effect,), KernelArg("scatter"))
        self._add(Kernel(sink, (memory.arg.slot,)))

    def _build_store(self, store: UOp) -> None:
        view, value = store.src
        ranges = self._ranges_of[store]
        place = Place(store, ranges, TRUE, ranges)
        base = _base(view)
        indices: Indices = ranges
        while view.op in MOVEMENT:
            indices, valid = source_position(view, indices)
            assert valid is TRUE, "a STORE through PAD is refused when it is built"
            view = view.src[0]
        offset = flat_offset(indices, view.shape)
        is_held = value in self._memory and self._whole.get(value) is not store
        element = self._element(value, place, body=not is_held)
        memory = _param_of(base)
        before = _stores_below(base)
        if self._reads_elsewhere(element, memory.arg.slot, offset):
            # The value is read completely before the first write.
            staging = self._staging(store)
            flat = flat_offset(ranges, store.src[0].shape)
            self._add_kernel(staging, flat, element, ranges)
            element = staging.index(flat)
        self._add_kernel(memory, offset, element, ranges, store, before)

    def _staging(self, store: UOp) -> UOp:
        device = _param_of(_base(store.src[0])).arg.device
        return self._new_memory(store.src[1].dtype, elements_of(store.src[0].shape), device)

    def _reads_elsewhere(self, element: UOp, slot: int, offset: UOp) -> bool:
        """Whether an element reads the slot it is written to at an offset that may differ."""
        for node in toposort((element,)):
            if node.op is not Op.INDEX:
                continue
            buffer = memory_of(node)
            version = self.result.versions.get(buffer)
            held = version.slot if version is not None else slot_of(buffer)
            if held == slot and node.src[1] is not offset:
                return True
        return False

    def _add_kernel(
        self,
        memory: UOp,
        offset: UOp,
        value: UOp,
        ranges: Indices,
        store: UOp | None = None,
        base: frozenset[UOp] = frozenset(),
    ) -> None:
        effect = memory.index(offset).store(value).end(*_loops(ranges))
        sink = make(Op.SINK, None, (effect,), KernelArg(_name_of(effect)))
        self._add(Kernel(sink, (memory.arg.slot,), store, base))

    def _add(self, kernel: Kernel) -> None:
        self.result.kernels.append(kernel)

    def _element(self, root: UOp, root_place: Place, *, body: bool = False) -> UOp:
        """The expression of one element of `root`; with `body`, not read from its own memory."""
        built = self._built
        if body:
            key = (root, root_place)
            for source, place in self._sources(root, root_place):
                self._element(source, place)
            return self._combine(root, root_place)
        stack = [(root, root_place)]
        while stack:
            node, place = key = stack[-1]
            if key in built:
                stack.pop()
                continue
            held = self._memory.get(node)
            if held is not None:
                offset = flat_offset(place.indices, node.shape)
                built[key] = _element_at(held, offset, place.valid)
                stack.pop()
                continue
            missing = [at for at in self._sources(node, place) if at not in built]
            missing = [at for at in missing if not (node.op is Op.INDEX and at[0] is node.src[0])]
            if missing:
                stack += missing
                continue
            stack.pop()
            built[key] = self._combine(node, place)
        return built[(root, root_place)]

    def _combine(self, node: UOp, place: Place) -> UOp:
        """One element of a node whose sources' elements are built."""
        built = self._built
        op = node.op
        if op in _MEMORY:
            offset = flat_offset(place.indices, node.shape)
            return _element_at(self._leaf(node), offset, place.valid)
        if op in _TRANSPARENT:
            return built[(node.src[0], place)]
        if op is Op.IOTA:
            return place.indices[0]
        if op is Op.STATE:
            return self._recurrences[place.kernel].current(node, place)
        if op is Op.INDEX:
            return self._gathered(node, place)
        elements = [built[at] for at in self._sources(node, place)]
        if op in ELEMENTWISE:
            return rebuild(node, tuple(elements))
        if op is Op.PAD:
            _, valid = source_position(node, place.indices)
            source = elements[0]
            guard = source.src[2:] if source.op is Op.INDEX else ()
            if valid is TRUE or guard == (place.valid & valid,):
                return source  # an element guarded by this very bool is 0 where it is not valid
            return valid.where(elements[0], const(node.dtype, 0))
        if op in MOVEMENT:
            return elements[0]
        if op is Op.REDUCE:
            return _reduced(elements[0], node.arg.op, self._ranges_for(node, place))
        if op is Op.FOLD:
            _, valid, ranges = self._fold_position(node, place)
            value = elements[0] if valid is TRUE else valid.where(elements[0], 0)
            return _reduced(value, Op.ADD, ranges)
        return node

    def _gathered(self, node: UOp, place: Place) -> UOp:
        table, *positions = node.src
        rank = len(node.shape) - (len(table.shape) - len(positions))
        at = place._replace(indices=place.indices[:rank])
        valid = place.valid
        indices: list[UOp] = []
        for axis, source in enumerate(positions):
            position = self._built[(source, at if source.shape else at._replace(indices=()))]
            index, inside = _checked(position, size_node(table.shape[axis]))
            indices.append(index)
            valid = valid & inside
        where = (*indices, *place.indices[rank:])
        outside = TRUE
        while table not in self._memory and table.op not in _TABLES:
            if table.op in _TRANSPARENT:
                table = table.src[0]
                continue
            where, inside = source_position(table, where)
            outside = outside & inside
            table = table.src[0]
        valid = valid & outside
        if table.op is Op.CONST:
            return table if valid is TRUE else valid.where(table, 0)
        if table.op is Op.STATE:
            buffer = self._recurrences[place.kernel].held[table.arg.position]
        else:
            buffer = self._memory.get(table) or self._leaf(table)
        return _address(buffer, flat_offset(where, table.shape), valid)

    def _leaf(self, node: UOp) -> UOp:
        """The PARAM to read a memory node through; later versions have stand-ins."""
        stores = _stores_below(node)
        return self._version_of(stores, node) if stores else _param_of(node)

    def _version_of(self, stores: frozenset[UOp], node: UOp) -> UOp:
        param = _param_of(node)
        version = Version(param.arg.slot, stores | _stores_below(node))
        for stand_in, known in self.result.versions.items():
            if known == version:
                return stand_in
        arg = ParamArg(self._next_version, param.arg.elements, param.arg.device)
        self._next_version -= 1
        stand_in = make(Op.PARAM, param.dtype, (), arg)
        self.result.versions[stand_in] = version
        return stand_in


def _not_carried(node: UOp) -> UnsupportedError:
    return UnsupportedError(
        f"a {node.op.name} of shape {node.shape} stands inside a recurrence.",
        why="it needs memory of its own at every step, which a loop body cannot have.",
        fix="compute it before the recurrence, or from values that do not depend on it; a SCATTER "
        "may be the next value of the state that it scatters into.",
    )


def _whole_stores(stores: list[UOp]) -> dict[UOp, UOp]:
    """Values that one STORE writes, as they are, over the whole of a slot."""
    count: dict[UOp, int] = {}
    for store in stores:
        param = _param_of(_base(store.src[0]))
        count[param] = count.get(param, 0) + 1
    whole: dict[UOp, UOp] = {}
    for store in stores:
        view, value = store.src
        while view.op is Op.RESHAPE:
            view = view.src[0]
        if value.op in (Op.COPY, Op.SCATTER, Op.GET):
            continue  # these have memory of their own, which the STORE copies
        if view.op is Op.PARAM and count[view] == 1 and value.shape == store.src[0].shape:
            whole.setdefault(value, store)
    return whole


def _base(view: UOp) -> UOp:
    """The memory node under a chain of movement ops."""
    while view.op in MOVEMENT:
        view = view.src[0]
    return view


def _param_of(node: UOp) -> UOp:
    while node.op is not Op.PARAM:
        node = node.src[0]
    return node


def _stores_below(node: UOp) -> frozenset[UOp]:
    """The writes that a memory node comes after."""
    stores: set[UOp] = set()
    stack = [node]
    while stack:
        at = stack.pop()
        if at.op is Op.AFTER or at.op in MOVEMENT:
            stack += at.src
        elif at.op is Op.STORE and at not in stores:
            stores.add(at)
            stack.append(at.src[0])
    return frozenset(stores)


def _checked(position: UOp, size: UOp) -> tuple[UOp, UOp]:
    """A position as weakint, and the bool under which it lies in 0..size-1."""
    index = simplify(position.cast(dtypes.weakint))
    return index, simplify(index >= 0) & simplify(index < size)


def _address(buffer: UOp, offset: UOp, valid: UOp) -> UOp:
    return buffer.index(offset) if valid is TRUE else buffer.index(offset, valid)


def _element_at(buffer: UOp, offset: UOp, valid: UOp) -> UOp:
    """An element that matters only where `valid`: guarded, unless it can be read everywhere."""
    low, high = bounds(offset)
    if 0 <= low and high < buffer.arg.elements:
        return buffer.index(offset)
    return _address(buffer, offset, valid)


def _loops(ranges: Indices) -> tuple[UOp, ...]:
    return tuple(axis for axis in ranges if axis.op is Op.RANGE)


def _reduced(value: UOp, op: Op, ranges: Indices) -> UOp:
    if any(axis.src[0].op is Op.CONST and axis.src[0].arg == 0 for axis in ranges):
        return const(value.dtype, 0 if op is Op.ADD else identity_of(op, value.dtype))
    loops = [axis for axis in ranges if not _is_one(axis)]
    if len(loops) < len(ranges):
        value = substitute(value, {axis: ZERO for axis in ranges if _is_one(axis)})
    total = value.reduce(op, ranges=loops)
    if op is Op.ADD and value.dtype.is_float:
        for axis in loops:
            if axis.src[0].op is not Op.CONST and bounds(axis.src[0])[0] <= 0:
                # Sums begin at -0, which no sum of terms gives but that of -0 alone.
                total = axis.src[0].eq(0).where(0, total)
    return total


def _is_one(axis: UOp) -> bool:
    return axis.src[0].op is Op.CONST and axis.src[0].arg == 1


def _name_of(effect: UOp) -> str:
    """`e_` for elementwise and `r_` for reducing kernels, with the sizes of their loops."""
    ranges = [node for node in toposort((effect,)) if node.op is Op.RANGE]
    ranges.sort(key=lambda axis: (axis.arg.kind is AxisKind.REDUCE, axis.arg.number))
    sizes = [str(r.src[0].arg) if r.src[0].op is Op.CONST else "n" for r in ranges]
    reduces = any(axis.arg.kind is AxisKind.REDUCE for axis in ranges)
    return "_".join(["r" if reduces else "e", *sizes])
