"""The code generator "simple": every op gets memory of its own, and a kernel that fills it."""

from collections.abc import Iterable, Mapping, Sequence

from tiny_codegen_simple.kernels import axes_of, moved, offset_of, program_of
from tiny_ir import ELEMENTWISE, KernelArg, Op, ParamArg, UOp, bounds, dtypes, make, toposort
from tiny_plugin import Copy, Launch, Measure, Options, Program, Schedule, Slot, Target, replace

TINY_API = (1, 0)
STARTS = {Op.ADD: 0, Op.MUL: 1, Op.AND: -1, Op.OR: 0}
Targets = Mapping[str, Target]


class SimpleGenerator:
    name = "simple"

    def schedule(
        self, graph: UOp, targets: Targets, options: Options, measure: Measure | None = None
    ) -> Schedule:
        emitter = Emitter(toposort((graph,)), targets)
        slots = [replace(slot, last=len(emitter.steps)) for slot in emitter.slots]
        return Schedule(tuple(slots), tuple(emitter.steps))

    def lower(self, kernel: UOp, target: Target, options: Options) -> Program:
        return program_of(kernel, target)


class Emitter:
    """Slots and steps. `memory` numbers the slots of nodes, `used` the arguments of a kernel."""

    def __init__(self, nodes: list[UOp], targets: Targets) -> None:
        params = sorted((n for n in nodes if n.op is Op.PARAM), key=lambda n: int(n.arg.slot))
        self.slots = [Slot(p.dtype, p.arg.elements, p.arg.device) for p in params]
        self.memory, self.targets = {param: slot for slot, param in enumerate(params)}, targets
        self.steps: list[Launch | Copy] = []
        self.emit(nodes)

    def emit(self, nodes: Iterable[UOp]) -> None:
        for node in nodes:
            op, src, arg = node.op, node.src, node.arg
            needed = src[1 : 1 + arg.states] if op in (Op.LOOP, Op.SCAN) else src
            if node in self.memory or not self.has(needed):  # what changes in a step comes later
                continue
            if op is Op.STORE:
                way, copy = [src[0]], make(Op.CONTIGUOUS, None, (src[1],))
                self.emit([copy])  # the value is read completely before the first write
                while way[-1].op not in (Op.PARAM, Op.AFTER):
                    way.append(way[-1].src[0])
                self.memory[node] = self.memory[way[-1]]
                self.write(way.pop(), copy, way)
            elif op is Op.AFTER:
                self.memory[node] = self.memory[src[1]]
            elif op in (Op.LOOP, Op.SCAN):
                self.recur(node, *src)
            elif op in (Op.REDUCE, Op.FOLD):
                op = arg.op if op is Op.REDUCE else Op.ADD
                start = STARTS.get(op, node.dtype.minimum if op is Op.MAX else node.dtype.maximum)
                self.fill(node, node.const_like(start))
                self.write(node, src[0], [node], op)
            elif op is Op.SCATTER:
                self.fill(node, src[0])
                self.write(node, src[1], [make(Op.INDEX, None, (src[0], *src[2:]))], arg)
            elif op not in (Op.CONST, Op.VARIABLE, Op.RANGE, Op.STATE, Op.SINK):
                self.fill(node, node)

    def has(self, nodes: Iterable[UOp]) -> bool:
        return all(node in self.memory or node.op in (Op.CONST, Op.VARIABLE) for node in nodes)

    def recur(self, loop: UOp, step: UOp, *rest: UOp) -> None:
        """Compute one step, and repeat it; the number of the step is counted in memory."""
        arg, outer, begin = loop.arg, self.memory, len(self.steps)
        values = rest[arg.states : 2 * arg.states + arg.outputs]
        gets = [make(Op.GET, value.dtype, (loop,), n) for n, value in enumerate(values)]
        self.memory = {**outer, loop: 0}
        for get, value in zip(gets, values, strict=True):
            self.fill(get, rest[get.arg] if get.arg < arg.states else value.const_like(0))
        states = [n for n in toposort(rest) if n.op is Op.STATE and n.arg.number == arg.number]
        self.memory |= {state: self.memory[gets[state.arg.position]] for state in states}
        self.fill(step, step.const_like(0))
        copies = [make(Op.CONTIGUOUS, None, (value,)) for value in values]
        goes_on = rest[-1] if arg.conditional else step < step.src[0]
        copies[: arg.states] = map(goes_on.where, values, gets[: arg.states])
        first = len(self.steps)
        self.emit(toposort(copies))
        if not self.has(copies):  # it is part of another step, and will be computed there
            self.memory, self.steps[begin:] = outer, []
            return
        for get, copy in zip(gets, copies, strict=True):
            here = [make(Op.INDEX, None, (get, step))] if get.arg >= arg.states else []
            self.write(get, copy, here)
        self.write(step, step + 1)
        self.steps[first:] = self.steps[first:] * (int(bounds(step)[1]) + 1)
        self.memory = outer | {get: self.memory[get] for get in (*gets, loop)}

    def fill(self, node: UOp, value: UOp) -> None:
        near = [self.slots[self.memory[s]].device for s in node.src if s in self.memory]
        device = node.arg if node.op is Op.COPY else [*near, *self.targets][0]
        dtype = dtypes.int64 if node.dtype is dtypes.weakint else node.dtype
        self.memory[node] = len(self.slots)
        elements = 1 + int(bounds(offset_of(axes_of(node), node)[0])[1])
        self.slots.append(Slot(dtype, elements, device, "temporary"))
        self.write(node, value)

    def write(self, to: UOp, value: UOp, way: Sequence[UOp] = (), op: Op | None = None) -> None:
        """Make a kernel: put elements where ops move them, or combine them with what is there."""
        self.device, self.used = self.slots[self.memory[to]].device, {self.memory[to]: 0}
        axes = at = axes_of(value if way and way[0] is to else [*way, to][0])
        for mover in way:
            at = moved(mover, at, self.read)
        place, gate = self.place(to, at)
        element = self.read(value, axes, is_there=value is not to)
        element = element if op is None else self.read(to, at).alu(op, element)
        end = make(Op.STORE, None, (place, element, *gate)).end(*axes)
        kernel = make(Op.SINK, None, (end,), KernelArg(f"simple_{value.op.name.lower()}"))
        self.steps.append(Launch(program_of(kernel, self.targets[self.device]), tuple(self.used)))

    def place(self, node: UOp, at: list[UOp]) -> tuple[UOp, list[UOp]]:
        slot, (offset, gate) = self.memory[node], offset_of(at, node)
        if self.slots[slot].device != self.device:
            self.steps.append(Copy(slot, len(self.slots), self.slots[slot].nbytes))
            self.slots.append(replace(self.slots[slot], device=self.device, role="temporary"))
            slot = len(self.slots) - 1
        arg = ParamArg(self.used.setdefault(slot, len(self.used)), self.slots[slot].elements, "")
        return make(Op.PARAM, node.dtype, (), arg).index(offset), gate

    def read(self, node: UOp, at: list[UOp], is_there: bool = True) -> UOp:
        """An element of a node: from memory, or computed where it is not there."""
        if is_there and node in self.memory:
            place, gate = self.place(node, at[: len(node.shape)])
            return make(Op.LOAD, None, (place, node.const_like(0), *gate)[: 1 + 2 * len(gate)])
        if node.op is Op.IOTA:
            return at[0]
        if node.op in ELEMENTWISE:
            return make(node.op, node.dtype, tuple(self.read(s, at) for s in node.src))
        return self.read(node.src[0], moved(node, at, self.read)) if node.src else node


codegen = SimpleGenerator
