"""Movement to index: turns a graph of arrays into kernels of loops and computed addresses.

before   SINK(STORE(p0, REDUCE(MUL(EXPAND(p1), p2), axis 1)))
after    SINK(END(STORE(INDEX(p0, i), REDUCE(MUL(INDEX(p1, j), INDEX(p2, i*n + j)), j)), i))

Two passes over one set of rules. The first goes from the outputs to the inputs and tells each node
at which places it is needed, so that `fuse.is_stored` can decide what gets memory of its own. The
second builds, for each value with memory and each STORE, the expression of one element.
"""

from __future__ import annotations

from dataclasses import dataclass

from tiny_codegen.buffers import memory_of, stored_to
from tiny_codegen.kernels.elements import (
    address_of,
    checked,
    element_at,
    loops_of,
    name_of,
    reduced,
)
from tiny_codegen.kernels.find_places import TABLES, FindPlaces, Temporary
from tiny_codegen.kernels.kernel import Kernel, Version, slot_of
from tiny_codegen.kernels.memory_versions import MEMORY, TRANSPARENT
from tiny_codegen.kernels.places import Place
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
    CallArg,
    DType,
    KernelArg,
    Op,
    UOp,
    bounds,
    const,
    make,
    parse,
    rebuild,
    size_node,
    substitute,
    toposort,
)


@dataclass(frozen=True, slots=True)
class Kernels:
    """What rangeify yields.

    Attributes:
        kernels: in no particular order.
        temporaries: the memory they need.
        versions: what the stand-ins for memory stand for.
    """

    kernels: list[Kernel]
    temporaries: list[Temporary]
    versions: dict[UOp, Version]


def rangeify(sink: UOp, default_device: str, *, fuses: bool = True) -> Kernels:
    """Split a graph of effects into kernels.

    Args:
        sink: a SINK over STORE nodes, with numbered PARAMs for memory.
        default_device: where values live that depend on no memory at all.
        fuses: put several ops into one kernel where that is good; else each has one of its own.
    """
    walk = _BuildKernels(toposort((sink,)), default_device, fuses)
    walk.find_places()
    walk.build()
    return Kernels(walk.kernels, walk.temporaries, walk.versions.stand_ins)


class _BuildKernels(FindPlaces):
    """The second pass: one element of everything that has memory."""

    def __init__(self, nodes: list[UOp], default_device: str, fuses: bool) -> None:
        super().__init__(nodes, default_device, fuses)
        self.kernels: list[Kernel] = []
        self._built: dict[tuple[UOp, Place], UOp] = {}

    def build(self) -> None:
        """Make the kernel of every stored value and of every STORE."""
        for node in self.nodes:
            if node in self._recurrences:
                self._build_recurrence(node)
            elif node in self._calls:
                self._build_call(node)
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
            while source.op is Op.RESHAPE or source.op in TRANSPARENT:
                if source in self._memory:
                    break
                source = source.src[0]
            held = self._memory.get(source)
            copied = held if held is not None else self.versions.readable(source)
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

        layouts = {
            get.arg: layout for get, layout in self._layouts.of_node.items() if get.src[0] is node
        }

        def new_memory(dtype: DType, elements: int) -> UOp:
            return self._new_memory(dtype, elements, device)

        sink = kernel_of_steps(self._recurrences[node], results, layouts, self._element, new_memory)
        if sink is not None:
            slots = tuple(slot_of(memory) for memory in stored_to(toposort((sink,))))
            self._add(Kernel(sink, slots))

    def _build_call(self, node: UOp) -> None:
        """A kernel that a user wrote: its PARAMs become memory, and what it writes is filled."""
        gets = {
            get.arg: memory
            for get, memory in self._memory.items()
            if get.op is Op.GET and get.src[0] is node
        }
        memories: dict[int, UOp] = {}
        for number, (slot, dtype, shape) in enumerate(node.arg.results):
            memories[slot] = gets.get(number) or self._new_memory(
                dtype, elements_of(shape), node.arg.device
            )
        for slot, source in zip(node.arg.inputs, node.src, strict=True):
            if slot not in memories:
                memories[slot] = self._memory.get(source) or self.versions.readable(source)
            elif 0 not in source.shape:
                ranges = self._first_ranges[(node, slot)]
                first = self._element(source, Place(node, ranges, TRUE, ranges))
                self._add_kernel(memories[slot], flat_offset(ranges, source.shape), first, ranges)
        slots = tuple(slot_of(memories[result.slot]) for result in node.arg.results)
        if node.arg.source is not None:
            sink = _places_of(node.arg, memories)
            self._add(Kernel(sink, slots, is_called=True, source=node))
            return
        kernel = parse(node.arg.kernel)
        params = {at: memories[at.arg.slot] for at in toposort((kernel,)) if at.op is Op.PARAM}
        self._add(Kernel(substitute(kernel, params), slots, is_called=True))

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
            index, inside = checked(position, size_node(node.shape[axis]))
            indices.append(index)
            valid = valid & inside
        depth = max(len(source.shape) for source in positions)
        at = flat_offset((*indices, *ranges[depth:]), node.shape)
        address = address_of(memory, at, valid)
        new = self._element(value, inner if value.shape else inner._replace(indices=()))
        if node.arg is not None:
            new = make(node.arg, None, (address, new))
        effect = address.store(new).end(*loops_of(ranges))
        sink = make(Op.SINK, None, (effect,), KernelArg("scatter"))
        self._add(Kernel(sink, (memory.arg.slot,)))

    def _build_store(self, store: UOp) -> None:
        view, value = store.src
        ranges = self._ranges_of[store]
        place = Place(store, ranges, TRUE, ranges)
        before = self.versions.stores_below(view)
        memory = self.versions.param_of(view)
        indices: Indices = ranges
        while view.op in MOVEMENT:
            indices, valid = source_position(view, indices)
            assert valid is TRUE, "a STORE through PAD is refused when it is built"
            view = view.src[0]
        offset = flat_offset(indices, view.shape)
        is_held = value in self._memory and self._whole.get(value) is not store
        element = self._element(value, place, body=not is_held)
        if self._reads_elsewhere(element, memory.arg.slot, offset):
            # The value is read completely before the first write.
            staging = self._staging(store)
            flat = flat_offset(ranges, store.src[0].shape)
            self._add_kernel(staging, flat, element, ranges)
            element = staging.index(flat)
        self._add_kernel(memory, offset, element, ranges, store, before)

    def _staging(self, store: UOp) -> UOp:
        device = self.versions.param_of(store.src[0]).arg.device
        return self._new_memory(store.src[1].dtype, elements_of(store.src[0].shape), device)

    def _reads_elsewhere(self, element: UOp, slot: int, offset: UOp) -> bool:
        """Whether an element reads the slot it is written to at an offset that may differ."""
        for node in toposort((element,)):
            if node.op is not Op.INDEX:
                continue
            buffer = memory_of(node)
            version = self.versions.stand_ins.get(buffer)
            held = version.slot if version is not None else slot_of(buffer)
            if held == slot and node.src[1] is not offset and _may_meet(node.src[1], offset):
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
        effect = memory.index(offset).store(value).end(*loops_of(ranges))
        sink = make(Op.SINK, None, (effect,), KernelArg(name_of(effect)))
        self._add(Kernel(sink, (memory.arg.slot,), store, base))

    def _add(self, kernel: Kernel) -> None:
        self.kernels.append(kernel)

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
                offset = self._layouts.offset(node, place.indices)
                built[key] = element_at(held, offset, place.valid)
                stack.pop()
                continue
            sources = list(self._sources(node, place))
            if node.op is Op.INDEX:
                sources = sources[: len(node.src) - 1]  # the table is read, not computed, here
            missing = [at for at in sources if at not in built]
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
        if op in MEMORY:
            offset = flat_offset(place.indices, node.shape)
            return element_at(self.versions.readable(node), offset, place.valid)
        if op in TRANSPARENT:
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
            return reduced(elements[0], node.arg.op, self._ranges_for(node, place))
        if op is Op.FOLD:
            _, valid, ranges = self._fold_position(node, place)
            value = elements[0] if valid is TRUE else valid.where(elements[0], 0)
            return reduced(value, Op.ADD, ranges)
        return node

    def _gathered(self, node: UOp, place: Place) -> UOp:
        table, *positions = node.src
        rank = len(node.shape) - (len(table.shape) - len(positions))
        at = place._replace(indices=place.indices[:rank])
        valid = place.valid
        indices: list[UOp] = []
        for axis, source in enumerate(positions):
            position = self._built[(source, at if source.shape else at._replace(indices=()))]
            index, inside = checked(position, size_node(table.shape[axis]))
            indices.append(index)
            valid = valid & inside
        where = (*indices, *place.indices[rank:])
        outside = TRUE
        while table not in self._memory and table.op not in TABLES:
            if table.op in TRANSPARENT:
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
            buffer = self._memory.get(table) or self.versions.readable(table)
        return address_of(buffer, self._layouts.offset(table, where), valid)


def _places_of(arg: CallArg, memories: dict[int, UOp]) -> UOp:
    """What a kernel that is text reads and writes, in the order of its arguments."""
    written = {result.slot for result in arg.results}
    places = []
    for slot in sorted(memories):
        place = memories[slot].index(ZERO)
        value = place if slot in arg.inputs else const(place.dtype, 0)
        places.append(place.store(value) if slot in written else place)
    return make(Op.SINK, None, tuple(places))


def _may_meet(a: UOp, b: UOp) -> bool:
    """Whether two offsets may be one element: in some iterations, of one loop or of two."""
    (first, last), (begin, end) = bounds(a), bounds(b)
    return first <= end and begin <= last
