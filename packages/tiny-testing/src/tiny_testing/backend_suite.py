"""The conformance kit: every promise of a Runtime, its renderer and compiler, as tests.

A backend is done when this passes:

    from tiny_testing import BackendSuite

    class TestMine(BackendSuite):
        device = "mine"
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

import pytest

from tiny_ir import (
    ELEMENTWISE,
    AxisKind,
    DType,
    Op,
    RangeArg,
    ReduceArg,
    UOp,
    const,
    dtypes,
    make,
    pack_values,
    unpack_values,
)
from tiny_plugin import Program, Target
from tiny_tensor import Session
from tiny_testing.cases import (
    STORED,
    Case,
    batch,
    cases_of,
    casts_of,
    contents_of,
    specials,
)
from tiny_testing.programs import (
    INDEX_DTYPE,
    Bench,
    Scalar,
    first_difference,
    load,
    loop,
    number,
    parameter,
    product_and_sum,
    program_of,
    reductions,
    register,
    scratch,
    store,
    variable,
)
from tiny_testing.random_kernels import random_kernel
from tiny_testing.tensor_programs import TENSOR_PROGRAMS

_CONVERSIONS = (Op.CAST, Op.BITCAST)
_FLOATS = [dtype for dtype in STORED if dtype.is_float and dtype.nbytes > 1]
_PLAIN_OPS = sorted(ELEMENTWISE - set(_CONVERSIONS), key=lambda op: op.name)
_REDUCING = (Op.ADD, Op.MUL, Op.MAX, Op.MIN, Op.AND, Op.OR, Op.XOR)
_TOLERANCE = 1e-5
"""Of sums and functions, relative to values of at least 1: each side has its own order."""


class BackendSuite:
    """Subclass it, name the device, and let pytest collect the subclass.

    Attributes:
        device: the name of the runtime.
        renderer: another renderer than the runtime's own.
        compiler: another compiler than the runtime's own.
    """

    device = ""
    renderer = ""
    compiler = ""

    @pytest.fixture(scope="class")
    @classmethod
    def bench(cls) -> Bench:
        """The device under test."""
        return Bench.open(cls.device, renderer=cls.renderer, compiler=cls.compiler)

    @pytest.fixture(scope="class")
    @classmethod
    def target(cls, bench: Bench) -> Target:
        """What the device says it can do."""
        return bench.runtime.target

    @pytest.fixture(scope="class")
    @classmethod
    def oracle(cls) -> Bench:
        """The reference: every op as its table row says."""
        return Bench.open("python")

    @pytest.fixture(scope="class")
    @classmethod
    def agree(cls, bench: Bench, oracle: Bench) -> Agree:
        """Check that the device and the reference leave equal bytes in every argument."""

        return partial(compare, bench, oracle)

    # Memory

    @pytest.mark.parametrize("nbytes", [1, 3, 64, 4096, 100_003])
    def test_memory_keeps_what_was_copied_in(self, bench: Bench, nbytes: int) -> None:
        runtime = bench.runtime
        content = bytes(i * 7 % 251 for i in range(nbytes))
        memory = runtime.allocate(nbytes)
        mark = runtime.copy_in(memory, content)
        found = bytearray(nbytes)
        runtime.wait(runtime.copy_out(memory, found, (mark,)))
        runtime.free(memory)
        assert bytes(found) == content

    def test_a_piece_of_memory_is_its_part(self, bench: Bench) -> None:
        runtime = bench.runtime
        memory = runtime.allocate(256)
        runtime.wait(runtime.copy_in(memory, bytes(256)))
        mark = runtime.copy_in(memory.piece(64, 32), b"\1" * 32)
        found = bytearray(256)
        runtime.wait(runtime.copy_out(memory, found, (mark,)))
        part = bytearray(16)
        runtime.wait(runtime.copy_out(memory.piece(88, 16), part))
        runtime.free(memory)
        assert bytes(found) == bytes(64) + b"\1" * 32 + bytes(160)
        assert bytes(part) == b"\1" * 8 + bytes(8)

    def test_blocks_do_not_share_bytes(self, bench: Bench) -> None:
        runtime = bench.runtime
        memories = [runtime.allocate(100) for _ in range(8)]
        for i, memory in enumerate(memories):
            runtime.wait(runtime.copy_in(memory, bytes([i]) * 100))
        for i, memory in enumerate(memories):
            found = bytearray(100)
            runtime.wait(runtime.copy_out(memory, found))
            assert bytes(found) == bytes([i]) * 100
            runtime.free(memory)

    def test_the_clock_goes_forward(self, bench: Bench) -> None:
        first, second = bench.runtime.clock(), bench.runtime.clock()
        assert second >= first
        deadline = time.monotonic() + 1
        while bench.runtime.clock() == first:
            assert time.monotonic() < deadline, "it stood still for a second"

    def test_memory_names_its_device_and_has_room(self, bench: Bench) -> None:
        memory = bench.runtime.allocate(100)
        assert (memory.device, memory.offset) == (bench.runtime.name, 0)
        assert memory.nbytes >= 100
        bench.runtime.free(memory)

    # Ops

    @pytest.mark.parametrize("op", _PLAIN_OPS, ids=lambda op: op.name)
    def test_op_gives_the_bits_of_its_meaning(self, agree: Agree, target: Target, op: Op) -> None:
        cases = _claimed(cases_of(op, target))
        agree(batch(target, f"every_{op.name.lower()}", cases), contents_of(cases))

    @pytest.mark.parametrize("op", _PLAIN_OPS, ids=lambda op: op.name)
    def test_wide_op_does_so_in_every_lane(self, agree: Agree, target: Target, op: Op) -> None:
        lanes = _lanes_of(target)
        cases = [case.padded(lanes) for case in _claimed(cases_of(op, target))]
        agree(batch(target, f"wide_{op.name.lower()}", cases, lanes), contents_of(cases))

    @pytest.mark.parametrize("dtype", _FLOATS, ids=lambda dtype: dtype.name)
    def test_a_product_is_rounded_before_it_is_added(
        self, agree: Agree, target: Target, dtype: DType
    ) -> None:
        program, contents = product_and_sum(target, dtype)
        found = agree(program, contents)
        assert unpack_values(dtype, found[0]) == [0.0]

    @pytest.mark.parametrize("source", STORED, ids=lambda dtype: dtype.name)
    def test_cast_gives_the_bits_of_its_meaning(
        self, agree: Agree, target: Target, source: DType
    ) -> None:
        cases = _claimed(casts_of(source, target))
        agree(batch(target, f"cast_from_{source.name}", cases), contents_of(cases))
        if target.form == "wide":
            cases = [case.padded(_lanes_of(target)) for case in cases]
            program = batch(target, f"wide_cast_from_{source.name}", cases, _lanes_of(target))
            agree(program, contents_of(cases))

    @pytest.mark.parametrize("source", STORED, ids=lambda dtype: dtype.name)
    def test_bitcast_keeps_the_bits(self, agree: Agree, target: Target, source: DType) -> None:
        if not (target.supports(Op.BITCAST, source) and target.stores(source)):
            pytest.skip(f"the target does not claim BITCAST of {source.name}")
        values = tuple(specials(source))
        cases = [
            Case(Op.BITCAST, dtype, (source,), (values,))
            for dtype in STORED
            if dtype.nbytes == source.nbytes and target.stores(dtype)
            if target.supports(Op.BITCAST, dtype)
        ]
        agree(batch(target, f"bitcast_from_{source.name}", cases), contents_of(cases))

    @pytest.mark.parametrize("dtype", STORED, ids=lambda dtype: dtype.name)
    def test_load_store_and_constants_keep_bits(
        self, agree: Agree, target: Target, dtype: DType
    ) -> None:
        _needs_storage(target, dtype)
        values = specials(dtype)
        axis = loop(0, len(values))
        source, copied, constants = (parameter(slot, dtype, len(values)) for slot in (2, 0, 1))
        copy = store(copied, axis, load(source, axis))
        writes = [store(constants, number(i), const(dtype, v)) for i, v in enumerate(values)]
        program = program_of(f"copy_{dtype.name}", target, axis, copy, copy.end(axis), *writes)
        empty = bytes(len(values) * dtype.nbytes)
        agree(program, [empty, empty, pack_values(dtype, values)])

    @pytest.mark.parametrize("seed", range(8))
    def test_random_kernels_agree(self, agree: Agree, target: Target, seed: int) -> None:
        kernel = random_kernel(target, seed)
        agree(kernel.program, kernel.contents)

    @pytest.mark.parametrize("seed", range(100, 108))
    def test_random_wide_kernels_agree(self, agree: Agree, target: Target, seed: int) -> None:
        kernel = random_kernel(target, seed, lanes=_lanes_of(target))
        agree(kernel.program, kernel.contents)

    # Sums and other accumulators

    @pytest.mark.parametrize("op", _REDUCING, ids=lambda op: op.name)
    def test_accumulator_combines_in_order(self, agree: Agree, target: Target, op: Op) -> None:
        found = _reduced(op, target)
        contents = _reduction_contents(found, 48)
        agree(reductions(target, op, [(dtype, 48) for dtype in found]), contents)

    @pytest.mark.parametrize("op", _REDUCING, ids=lambda op: op.name)
    def test_wide_accumulator_ends_in_the_tree_of_halves(
        self, agree: Agree, target: Target, op: Op
    ) -> None:
        lanes = _lanes_of(target)
        found = _reduced(op, target)
        contents = _reduction_contents(found, 3 * lanes)
        agree(reductions(target, op, [(dtype, 3 * lanes) for dtype in found], lanes), contents)

    def test_accumulators_live_through_nested_loops(self, agree: Agree, target: Target) -> None:
        rows, columns, inner = 3, 5, 4
        left = parameter(1, dtypes.int32, rows * inner)
        right = parameter(2, dtypes.int32, inner * columns)
        out = parameter(0, dtypes.int32, rows * columns)
        i, j, k = loop(0, rows), loop(1, columns), loop(2, inner, AxisKind.REDUCE)
        total = register(0, dtypes.int32)
        start = make(Op.STORE, None, (total.after(i, j), const(dtypes.int32, 0)))
        product = load(left, i * number(inner) + k) * load(right, k * number(columns) + j)
        before = make(Op.LOAD, None, (total.after(start, k),))
        step = make(Op.STORE, None, (total, before + product))
        inner_end = step.end(k)
        result = make(Op.LOAD, None, (total.after(inner_end),))
        write = store(out, i * number(columns) + j, result)
        program = program_of(
            "matrix_product", target, i, j, start, k, step, inner_end, write, write.end(j, i)
        )
        values = [pack_values(dtypes.int32, range(1, size + 1)) for size in (12, 20)]
        found = agree(program, [bytes(4 * rows * columns), *values])
        assert unpack_values(dtypes.int32, found[0])[0] == 1 * 1 + 2 * 6 + 3 * 11 + 4 * 16

    def test_two_accumulators_swap_through_a_loop(self, agree: Agree, target: Target) -> None:
        a, b = register(0, dtypes.int64), register(1, dtypes.int64)
        starts = [
            make(Op.STORE, None, (one, const(dtypes.int64, value)))
            for one, value in ((a, 0), (b, 1))
        ]
        axis = loop(0, 30, AxisKind.SERIAL)
        old_a = make(Op.LOAD, None, (a.after(*starts, axis),))
        old_b = make(Op.LOAD, None, (b.after(*starts, axis),))
        steps = [
            make(Op.STORE, None, (a, old_b)),
            make(Op.STORE, None, (b, old_a + old_b)),
        ]
        end = make(Op.END, None, (steps[1], axis))
        result = make(Op.LOAD, None, (a.after(*steps, end),))
        write = store(parameter(0, dtypes.int64, 1), number(0), result)
        program = program_of("fibonacci", target, *starts, axis, old_a, old_b, *steps, end, write)
        found = agree(program, [bytes(8)])
        assert unpack_values(dtypes.int64, found[0]) == [832040]

    # Loops and launches

    @pytest.mark.parametrize("size", [0, 1, 7])
    def test_symbolic_loop_runs_as_often_as_it_is_told(
        self, agree: Agree, target: Target, size: int
    ) -> None:
        n = variable("n", 0, 7)
        axis = loop(0, n)
        count = register(0, dtypes.int32)
        start = make(Op.STORE, None, (count, const(dtypes.int32, 100)))
        before = make(Op.LOAD, None, (count.after(start, axis),))
        step = make(Op.STORE, None, (count, before + 1))
        end = step.end(axis)
        result = make(Op.LOAD, None, (count.after(end),))
        write = store(parameter(0, dtypes.int32, 1), number(0), result)
        program = program_of("count", target, n, start, axis, step, end, write)
        found = agree(program, [bytes(4)], (size,))
        assert unpack_values(dtypes.int32, found[0]) == [100 + size]

    def test_variables_keep_their_order(self, agree: Agree, target: Target) -> None:
        first, second = variable("z", 0, 9), variable("a", 0, 9)
        value = (first * number(10) + second).cast(dtypes.int32)
        write = store(parameter(0, dtypes.int32, 1), number(0), value)
        program = program_of("two_variables", target, first, second, write)
        found = agree(program, [bytes(4)], (3, 7))
        assert unpack_values(dtypes.int32, found[0]) == [37]

    def test_grid_runs_every_position(self, agree: Agree, target: Target) -> None:
        if not target.grid_axes:
            pytest.skip("the target has no grid")
        positions = 5
        position = make(Op.SPECIAL, None, (number(positions),), "grid0")
        out = parameter(0, dtypes.int32, positions)
        value = position.cast(dtypes.int32) * 3 + 1
        program = program_of(
            "positions", target, position, store(out, position, value), grid=(positions,)
        )
        found = agree(program, [bytes(4 * positions)])
        assert unpack_values(dtypes.int32, found[0]) == [1, 4, 7, 10, 13]

    def test_scratch_is_the_workers_own(self, agree: Agree, target: Target) -> None:
        if target.space("scratch") is None:
            pytest.skip("the target has no scratch")
        size = 9
        first, second = scratch(0, dtypes.int16, size), scratch(1, dtypes.float64, size)
        source, out = parameter(1, dtypes.int16, size), parameter(0, dtypes.float64, size)
        i, j = loop(0, size), loop(1, size)
        fill = store(first, i, load(source, i))
        convert = store(second, i, load(source, i).cast(dtypes.float64))
        filled = make(Op.END, None, (fill, convert, i))
        backwards = load(first.after(filled), number(size - 1) - j).cast(dtypes.float64)
        write = store(out, j, backwards + load(second.after(filled), j))
        program = program_of("reverse", target, i, fill, convert, filled, j, write, write.end(j))
        values = pack_values(dtypes.int16, range(size))
        found = agree(program, [bytes(8 * size), values])
        assert unpack_values(dtypes.float64, found[0]) == [float(size - 1)] * size

    def test_launches_in_a_row_see_each_other(self, bench: Bench, target: Target) -> None:
        axis = loop(0, 4)
        data = parameter(0, dtypes.int32, 4)
        write = store(data, axis, load(data, axis) * 2 + 1)
        program = program_of("twice_plus_one", target, axis, write, write.end(axis))
        _needs_ops(target, program)
        runtime, executable = bench.runtime, bench.executable_of(program)
        memory = runtime.allocate(16)
        mark = runtime.copy_in(memory, pack_values(dtypes.int32, [0, 1, 2, 3]))
        for _ in range(3):
            mark = runtime.launch(executable, (memory,), (), (mark,))
        found = bytearray(16)
        runtime.wait(runtime.copy_out(memory, found, (mark,)))
        runtime.free(memory)
        assert unpack_values(dtypes.int32, found) == [7, 15, 23, 31]

    def test_arguments_may_be_pieces_of_one_block(self, bench: Bench, target: Target) -> None:
        axis = loop(0, 8)
        write = store(
            parameter(0, dtypes.int32, 8), axis, load(parameter(1, dtypes.int32, 8), axis)
        )
        program = program_of("copy_piece", target, axis, write, write.end(axis))
        _needs_ops(target, program)
        runtime, executable = bench.runtime, bench.executable_of(program)
        memory = runtime.allocate(128)
        mark = runtime.copy_in(memory, pack_values(dtypes.int32, range(32)))
        pieces = (memory.piece(64, 32), memory.piece(0, 32))
        mark = runtime.launch(executable, pieces, (), (mark,))
        found = bytearray(128)
        runtime.wait(runtime.copy_out(memory, found, (mark,)))
        runtime.free(memory)
        expected = [*range(16), *range(8), *range(24, 32)]
        assert unpack_values(dtypes.int32, found) == expected

    @pytest.mark.parametrize("dtype", [dtypes.int32, dtypes.int64], ids=lambda dtype: dtype.name)
    def test_offsets_have_either_width(self, agree: Agree, target: Target, dtype: DType) -> None:
        axis = make(Op.RANGE, None, (const(dtype, 6),), RangeArg(0, AxisKind.LOOP))
        source, out = parameter(1, dtypes.float32, 6), parameter(0, dtypes.float32, 12)
        inside = const(dtype, 0).alu(Op.CMPLE, axis - 2)
        value = load(source, axis - 2, otherwise=const(dtypes.float32, -1.0), gate=inside)
        writes = [store(out, axis, value)]
        if target.form == "wide":
            iota = make(Op.IOTA, dtype, (), 6)
            gathered = load(source, iota * -1 + 5)
            writes.append(store(out, iota + 6, gathered))
        program = program_of(
            f"offsets_{dtype.name}", target, axis, *writes[:1], writes[0].end(axis), *writes[1:]
        )
        agree(program, [bytes(48), pack_values(dtypes.float32, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])])

    # Gates

    @pytest.mark.parametrize("dtype", STORED, ids=lambda dtype: dtype.name)
    def test_gated_accesses_touch_nothing_outside(
        self, agree: Agree, target: Target, dtype: DType
    ) -> None:
        _needs_storage(target, dtype)
        size, shift = 6, 2
        axis = loop(0, size)
        source, out = parameter(1, dtype, size), parameter(0, dtype, size)
        offset = axis - number(shift)
        inside = number(0).alu(Op.CMPLE, offset)
        value = load(source, offset, otherwise=const(dtype, 1), gate=inside)
        write = store(out, offset + number(3), value, gate=offset < number(3))
        program = program_of(f"gated_{dtype.name}", target, axis, write, write.end(axis))
        values = pack_values(dtype, _some(specials(dtype), size))
        agree(program, [pack_values(dtype, [0] * size), values])

    @pytest.mark.parametrize("dtype", STORED, ids=lambda dtype: dtype.name)
    def test_wide_gated_accesses_touch_nothing_outside(
        self, agree: Agree, target: Target, dtype: DType
    ) -> None:
        lanes = _lanes_of(target)
        _needs_storage(target, dtype)
        size = lanes + lanes // 2
        axis = loop(0, 2)
        source, out = parameter(1, dtype, size), parameter(0, dtype, size)
        start = axis * number(lanes)
        inside = _splat(start, lanes) + _iota(lanes)
        gate = inside < _splat(number(size), lanes)
        value = load(source, start, lanes, otherwise=const(dtype, 1), gate=gate)
        write = store(out, start, value, lanes, gate=gate)
        program = program_of(f"wide_gated_{dtype.name}", target, axis, write, write.end(axis))
        values = pack_values(dtype, _some(specials(dtype), size))
        agree(program, [pack_values(dtype, [0] * size), values])

    @pytest.mark.parametrize("dtype", STORED, ids=lambda dtype: dtype.name)
    def test_lanes_gather_and_scatter(self, agree: Agree, target: Target, dtype: DType) -> None:
        lanes = _lanes_of(target)
        _needs_storage(target, dtype)
        source, out = parameter(1, dtype, 2 * lanes), parameter(0, dtype, lanes)
        last, again = parameter(2, dtype, lanes), parameter(3, dtype, lanes)
        iota = _iota(lanes)
        backwards = _splat(number(2 * lanes - 2), lanes) - iota * _splat(number(2), lanes)
        gathered = load(source, backwards)
        gate = iota < _splat(number(lanes // 2), lanes)
        far = iota * _splat(number(1 << 40), lanes)
        near = make(Op.WHERE, None, (gate, iota, far))
        some = load(source, near, otherwise=gathered, gate=gate)
        # All lanes go to two places: of equal offsets the last lane wins.
        parity = make(Op.AND, None, (iota, _splat(number(1), lanes)))
        writes = [
            store(out, iota, gathered),
            store(last, parity, gathered),
            store(again, near, some, gate=gate),
        ]
        program = program_of(f"gather_{dtype.name}", target, *writes)
        empty = pack_values(dtype, [0] * lanes)
        values = pack_values(dtype, _some(specials(dtype), 2 * lanes))
        agree(program, [empty, values, empty, empty])

    # Lanes

    def test_lanes_can_be_rearranged(self, agree: Agree, target: Target) -> None:
        _lanes_of(target)
        source, out = parameter(1, dtypes.float32, 8), parameter(0, dtypes.float32, 15)
        x = load(source, number(0), 4)
        y = load(source, number(4), 4)
        mixed = make(Op.SHUFFLE, None, (x, y), (7, 0, 5, 2))
        longer = make(Op.SHUFFLE, None, (x,), (3, 2, 1, 0, 0, 1, 2, 3))
        third = make(Op.EXTRACT, None, (y,), 2)
        stacked = make(Op.STACK, None, (third, const(dtypes.float32, -0.0), third * third))
        writes = [
            store(out, number(0), mixed, 4),
            store(out, number(4), longer, 8),
            store(out, number(12), stacked, 3),
        ]
        values = pack_values(dtypes.float32, [1.5, -2.0, 3.25, 4.0, 5.5, 6.0, -7.5, 8.0])
        agree(program_of("rearrange", target, *writes), [bytes(60), values])

    @pytest.mark.parametrize("lanes", [1, 2, 3, 5, 6, 12, 16])
    def test_lanes_are_combined_in_the_tree_of_halves(
        self, agree: Agree, target: Target, lanes: int
    ) -> None:
        _lanes_of(target)
        x = load(parameter(1, dtypes.float32, lanes), number(0), lanes)
        total = make(Op.REDUCE, None, (x,), ReduceArg(Op.ADD, (0,)))
        write = store(parameter(0, dtypes.float32, 1), number(0), total)
        values = pack_values(dtypes.float32, [1.1**i * (-1) ** i * 1e3 for i in range(lanes)])
        agree(program_of(f"tree_{lanes}", target, write), [bytes(4), values])

    # Tensors

    @pytest.mark.parametrize("name", TENSOR_PROGRAMS)
    def test_tensors_agree(self, bench: Bench, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        monkeypatch.setenv("TINY_RENDERER", self.renderer)
        found = _computed_on(self.device, name)
        monkeypatch.delenv("TINY_RENDERER")
        expected = _computed_on("python", name)
        assert len(found) == len(expected)
        for place, (x, y) in enumerate(zip(found, expected, strict=True)):
            assert abs(x - y) <= _TOLERANCE * max(1.0, abs(y)), f"element {place}: {x}, not {y}"


Agree = Callable[..., list[bytes]]
"""`compare` with the device and the reference already given."""


def compare(
    bench: Bench,
    oracle: Bench,
    program: Program,
    contents: Sequence[bytes],
    values: Sequence[int] = (),
) -> list[bytes]:
    """Run a program on a device and on the reference; every argument must end with equal bits.

    Args:
        bench: the device.
        oracle: the reference.
        program: what to run; the test is skipped where the target does not claim an op of it.
        contents: the bytes of each argument before the launch.
        values: of the variables.

    Returns:
        The bytes of each argument afterwards.
    """
    _needs_ops(bench.runtime.target, program)
    expected = oracle.run(program, contents, values)
    found = bench.run(program, contents, values)
    for position, argument in enumerate(program.arguments):
        place = first_difference(argument.dtype, found[position], expected[position])
        if place is not None:
            _fail(bench, program, contents, position, place, found, expected)
    return found


def _fail(
    bench: Bench,
    program: Program,
    contents: Sequence[bytes],
    position: int,
    place: int,
    found: Sequence[bytes],
    expected: Sequence[bytes],
) -> None:
    dtype = program.arguments[position].dtype
    got, wanted = (unpack_values(dtype, data[position])[place] for data in (found, expected))
    lines = [
        f"{program.name}: element {place} of argument {position} ({dtype.name}) "
        f"is {got!r}; the reference has {wanted!r}"
    ]
    for i, argument in enumerate(program.arguments):
        if not argument.written and place < argument.elements:
            value = unpack_values(argument.dtype, contents[i])[place]
            lines.append(f"  argument {i} ({argument.dtype.name}) holds {value!r} there")
    text = bench.source_of(program).text if bench.renderer else ""
    pytest.fail("\n".join([*lines, text]))


def _computed_on(device: str, name: str) -> list[float]:
    """The elements of a tensor program, in order."""
    with Session(device=device, cache_folder=""):
        result = TENSOR_PROGRAMS[name]()
        return [float(value) for value in result.numpy().reshape(-1)]


def _needs_ops(target: Target, program: Program) -> None:
    """Skip a test whose program uses what the target does not claim."""
    for node in program.uops:
        if node.op is Op.PARAM or node.op is Op.SCRATCH:
            _needs_storage(target, node.dtype)
        elif node.op in ELEMENTWISE:
            dtype = node.src[1 if node.op is Op.WHERE else 0].dtype
            if not target.supports(node.op, dtype):
                pytest.skip(f"the target does not claim {node.op.name} of {dtype.name}")


def _claimed(cases: list[Case]) -> list[Case]:
    """The cases, where there are any."""
    if not cases:
        pytest.skip("the target does not claim the op for any dtype")
    return cases


def _needs_storage(target: Target, dtype: DType) -> None:
    if not target.stores(dtype):
        pytest.skip(f"the target does not store {dtype.name}")


def _lanes_of(target: Target) -> int:
    """A width that the target has registers for."""
    if target.form != "wide":
        pytest.skip("the target splits lanes")
    return max(2, target.lanes(dtypes.float32))


def _splat(value: UOp, lanes: int) -> UOp:
    return make(Op.SPLAT, None, (value,), lanes)


def _iota(lanes: int) -> UOp:
    return make(Op.IOTA, INDEX_DTYPE, (), lanes)


def _some(values: Sequence[Scalar], count: int) -> list[Scalar]:
    """`count` of the values, in an order that mixes them."""
    return [values[i * 7 % len(values)] for i in range(count)]


def _reduced(op: Op, target: Target) -> list[DType]:
    found = [
        dtype
        for dtype in STORED
        if target.supports(op, dtype) and target.stores(dtype) and not dtype.is_bool
    ]
    if not found:
        pytest.skip(f"the target does not claim {op.name}")
    return found


def _reduction_contents(found: Sequence[DType], count: int) -> list[bytes]:
    contents: list[bytes] = []
    for dtype in found:
        contents += [bytes(dtype.nbytes), pack_values(dtype, _some(specials(dtype), count))]
    return contents
