"""Small Programs written by hand, and what runs them on a device: the ground of BackendSuite."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tiny_ir import (
    ELEMENTWISE,
    AxisKind,
    DType,
    Op,
    ParamArg,
    RangeArg,
    ReduceArg,
    RegisterArg,
    ScratchArg,
    UOp,
    VariableArg,
    const,
    dtypes,
    make,
    pack_values,
    toposort,
    unpack_values,
    verify_program,
)
from tiny_plugin import Argument, Program, Registry, Runtime, Source, Target, Variable

Scalar = bool | int | float

INDEX_DTYPE = dtypes.int64
"""What offsets and loop counters are computed in here."""


def parameter(slot: int, dtype: DType, elements: int, device: str = "") -> UOp:
    """The buffer that is argument `slot`."""
    return make(Op.PARAM, dtype, (), ParamArg(slot, elements, device))


def number(value: int) -> UOp:
    """A constant offset or size."""
    return const(INDEX_DTYPE, value)


def loop(axis: int, size: int | UOp, kind: AxisKind = AxisKind.LOOP) -> UOp:
    """A RANGE from 0 up to `size`."""
    bound = number(size) if isinstance(size, int) else size
    return make(Op.RANGE, None, (bound,), RangeArg(axis, kind))


def variable(name: str, minimum: int, maximum: int) -> UOp:
    """An integer that is known at launch."""
    return make(Op.VARIABLE, INDEX_DTYPE, (), VariableArg(name, minimum, maximum))


def register(axis: int, dtype: DType, lanes: int = 0) -> UOp:
    """An accumulator."""
    return make(Op.REGISTER, dtype, (), RegisterArg(axis, (lanes,) if lanes else ()))


def scratch(axis: int, dtype: DType, elements: int) -> UOp:
    """Fast memory of one worker."""
    return make(Op.SCRATCH, dtype, (), ScratchArg(axis, elements, "scratch"))


def load(
    buffer: UOp,
    offset: UOp,
    lanes: int | None = None,
    *,
    otherwise: UOp | None = None,
    gate: UOp | None = None,
) -> UOp:
    """Read one element, `lanes` of them in a row, or one an offset."""
    address = make(Op.INDEX, None, (buffer, offset), lanes)
    if gate is None:
        return make(Op.LOAD, None, (address,))
    assert otherwise is not None, "a gated load needs what it gives otherwise"
    return make(Op.LOAD, None, (address, otherwise, gate))


def store(
    buffer: UOp, offset: UOp, value: UOp, lanes: int | None = None, gate: UOp | None = None
) -> UOp:
    """Write one element, `lanes` of them in a row, or one an offset."""
    address = make(Op.INDEX, None, (buffer, offset), lanes)
    return make(Op.STORE, None, (address, value) if gate is None else (address, value, gate))


def listed(*statements: UOp) -> tuple[UOp, ...]:
    """Put statements in order, and each node they need before the first that needs it.

    What depends on no memory stands in the loops whose counters it depends on, and in no other.
    """
    sink = make(Op.SINK, None, statements[-1:])
    nodes = toposort((*statements, sink))
    loops = _loops_of(nodes)
    order: dict[UOp, None] = {}
    _place(order, [node for node in nodes if loops.get(node) == frozenset()])
    entered: frozenset[UOp] = frozenset()
    for statement in (*statements, sink):
        _place(order, [statement])
        if statement.op is Op.RANGE:
            entered |= {statement}
            fitting = [n for n in nodes if statement in loops.get(n, ()) and loops[n] <= entered]
            _place(order, fitting)
    return tuple(order)


def _place(order: dict[UOp, None], wanted: Iterable[UOp]) -> None:
    """Append nodes, sources first; nodes that stand already stay where they are."""
    for node in toposort(wanted):
        order.setdefault(node)


def _loops_of(nodes: Sequence[UOp]) -> dict[UOp, frozenset[UOp]]:
    """The RANGEs that each node depends on, for nodes that do not look at memory."""
    found: dict[UOp, frozenset[UOp]] = {}
    for node in nodes:
        if node.op is Op.RANGE:
            found[node] = frozenset((node,))
        elif node.op in _WITHOUT_MEMORY and all(source in found for source in node.src):
            found[node] = frozenset().union(*(found[source] for source in node.src))
    return {node: loops for node, loops in found.items() if node.op is not Op.RANGE}


_WITHOUT_MEMORY = frozenset(
    (*ELEMENTWISE, Op.CONST, Op.VARIABLE, Op.SPECIAL, Op.IOTA, Op.PARAM, Op.SCRATCH, Op.REGISTER)
    + (Op.INDEX, Op.SPLAT, Op.STACK, Op.EXTRACT, Op.SHUFFLE)
)
"""Ops whose value, or address, is the same whatever memory holds."""


def program_of(
    name: str, target: Target, *statements: UOp, grid: tuple[int | UOp, ...] = ()
) -> Program:
    """A Program of statements: its arguments and variables are read off the nodes."""
    uops = listed(*statements)
    verify_program(uops)
    read = {_storage(node.src[0]) for node in uops if node.op is Op.LOAD}
    written = {_storage(node.src[0]) for node in uops if node.op is Op.STORE}
    parameters = sorted((n for n in uops if n.op is Op.PARAM), key=lambda n: int(n.arg.slot))
    arguments = tuple(
        Argument(node.dtype, node.arg.elements, node in read, node in written)
        for node in parameters
    )
    variables = tuple(Variable(*node.arg) for node in uops if node.op is Op.VARIABLE)
    scratches = [n.arg.elements * n.dtype.nbytes for n in uops if n.op is Op.SCRATCH]
    return Program(
        name,
        target,
        uops,
        grid=grid,
        arguments=arguments,
        variables=variables,
        scratch_nbytes=sum(-(-nbytes // 64) * 64 for nbytes in scratches),
    )


def _storage(node: UOp) -> UOp:
    while node.op in (Op.AFTER, Op.INDEX):
        node = node.src[0]
    return node


# Programs ---------------------------------------------------------------------------------------


def reductions(
    target: Target, op: Op, inputs: Sequence[tuple[DType, int]], lanes: int = 0
) -> Program:
    """`out[0] = in[0] op in[1] op ...` through an accumulator of no or of several lanes.

    Args:
        target: what the program is for.
        op: what combines.
        inputs: dtype and number of elements of each input.
        lanes: of the accumulators.

    Returns:
        A program with two arguments an input: its result, then its elements.
    """
    statements: list[UOp] = []
    for position, (dtype, elements) in enumerate(inputs):
        output = parameter(2 * position, dtype, 1)
        source = parameter(2 * position + 1, dtype, elements)
        statements += _reduction(op, position, output, source, elements, lanes)
    name = f"reduce_{op.name.lower()}" + (f"_x{lanes}" if lanes else "")
    return program_of(name, target, *statements)


def _reduction(
    op: Op, position: int, output: UOp, source: UOp, elements: int, lanes: int
) -> list[UOp]:
    dtype = source.dtype
    accumulator = register(position, dtype, lanes)
    start = make(Op.STORE, None, (accumulator, const(dtype, _NEUTRAL[op])))
    axis = loop(position, elements // max(1, lanes), AxisKind.REDUCE)
    offset = axis * number(lanes) if lanes else axis
    before = make(Op.LOAD, None, (accumulator.after(start, axis),))
    value = load(source, offset, lanes or None)
    step = make(Op.STORE, None, (accumulator, make(op, None, (before, value))))
    end = step.end(axis)
    result = make(Op.LOAD, None, (accumulator.after(end),))
    if lanes:
        result = make(Op.REDUCE, None, (result,), ReduceArg(op, (0,)))
    return [start, axis, step, end, store(output, number(0), result)]


_NEUTRAL = {Op.ADD: 0, Op.MUL: 1, Op.AND: -1, Op.OR: 0, Op.XOR: 0, Op.MAX: 0, Op.MIN: 0}


def product_and_sum(target: Target, dtype: DType) -> tuple[Program, list[bytes]]:
    """`out[0] = x[0] * y[0] + z[0]`, and contents for which one rounding would show.

    The product lies halfway between 1 and more, on which a last bit is 0, and the next number: it
    is rounded down, and `z` takes all of that away. An exact product would leave half a last bit.
    The dtype has two bytes or more.
    """
    bits = dtype.mantissa_bits + 1
    x, y = 1 + 2.0 ** -(bits // 2), 1 + 2.0 ** -(bits - bits // 2)
    out, *operands = (parameter(slot, dtype, 1) for slot in range(4))
    left, right, addend = (load(operand, number(0)) for operand in operands)
    write = store(out, number(0), left * right + addend)
    values = (1.0, x, y, 1 - x + 1 - y - 1)
    contents = [pack_values(dtype, [value]) for value in values]
    return program_of(f"product_and_sum_{dtype.name}", target, write), contents


# Running ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bench:
    """A device with what makes programs for it.

    Args:
        registry: where the plugins come from.
        runtime: the device.
        renderer: name of the renderer.
        compiler: name of the compiler.
    """

    registry: Registry
    runtime: Runtime
    renderer: str
    compiler: str

    @staticmethod
    def open(
        device: str, *, renderer: str = "", compiler: str = "", registry: Registry | None = None
    ) -> Bench:
        """Open a device by name, with its own renderer and compiler unless others are named."""
        registry = registry or Registry()
        runtime = registry.open_runtime(device)
        return Bench(registry, runtime, renderer or runtime.renderer, compiler or runtime.compiler)

    def source_of(self, program: Program) -> Source:
        """The text of a program."""
        renderer = self.registry.open_renderer(self.renderer, program.target)
        return renderer.render(program)

    def executable_of(self, program: Program) -> object:
        """A program made ready to launch."""
        if self.renderer:
            compiler = self.registry.open_compiler(self.compiler, program.target)
            binary = compiler.compile(self.source_of(program))
        else:
            assembler = self.registry.open_assembler(self.compiler, program.target)
            binary = assembler.assemble(program)
        return self.runtime.load(binary)

    def run(
        self, program: Program, contents: Sequence[bytes], values: Sequence[int] = ()
    ) -> list[bytes]:
        """Launch once and return what every argument holds afterwards.

        Args:
            program: what to run.
            contents: the bytes of each argument before the launch.
            values: of the variables.
        """
        runtime = self.runtime
        executable = self.executable_of(program)
        memories = [runtime.allocate(len(content)) for content in contents]
        marks = [
            runtime.copy_in(memory, content)
            for memory, content in zip(memories, contents, strict=True)
        ]
        mark = runtime.launch(executable, memories, values, marks)
        results = [bytearray(len(content)) for content in contents]
        for memory, result in zip(memories, results, strict=True):
            runtime.wait(runtime.copy_out(memory, result, (mark,)))
        for memory in memories:
            runtime.free(memory)
        return [bytes(result) for result in results]


def first_difference(dtype: DType, a: bytes, b: bytes) -> int | None:
    """The first element whose bits differ in two buffers; all NaNs are one value."""
    if a == b:
        return None
    size = dtype.nbytes
    for i in range(len(a) // size):
        one, other = a[i * size : (i + 1) * size], b[i * size : (i + 1) * size]
        if one != other:
            x, y = unpack_values(dtype, one)[0], unpack_values(dtype, other)[0]
            if x == x or y == y:
                return i
    return None
