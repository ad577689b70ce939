"""The conformance kit sees what is wrong with a backend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from tiny_ir import DType, Op, UOp, dtypes, make, rebuild
from tiny_plugin import Program, replace
from tiny_testing.backend_suite import compare
from tiny_testing.cases import Case, batch, cases_of, contents_of
from tiny_testing.programs import Bench, first_difference, product_and_sum, reductions
from tiny_testing.random_kernels import random_kernel

PYTHON = Bench.open("python")
TARGET = PYTHON.runtime.target
SWAPS = {
    Op.ADD: Op.SUB,
    Op.MUL: Op.ADD,
    Op.MAX: Op.MIN,
    Op.CMPLT: Op.CMPLE,
    Op.AND: Op.OR,
    Op.SHL: Op.SHR,
    Op.FLOOR: Op.TRUNC,
    Op.ROUND: Op.CEIL,
    Op.FLOORDIV: Op.CDIV,
    Op.FLOORMOD: Op.CMOD,
}


@dataclass(frozen=True, slots=True)
class WrongBench(Bench):
    """A reference that takes one op for another."""

    wrong: Op

    def run(
        self, program: Program, contents: Sequence[bytes], values: Sequence[int] = ()
    ) -> list[bytes]:
        done: dict[UOp, UOp] = {}
        for node in program.uops:
            src = tuple(done[source] for source in node.src)
            op = SWAPS[node.op] if node.op is self.wrong else node.op
            same = op is node.op
            done[node] = rebuild(node, src) if same else make(op, node.dtype, src, node.arg)
        changed = replace(program, uops=tuple(done[node] for node in program.uops))
        return Bench.run(self, changed, contents, values)


def wrong(op: Op) -> WrongBench:
    return WrongBench(PYTHON.registry, PYTHON.runtime, "python", "python", op)


@pytest.mark.parametrize("op", SWAPS, ids=lambda op: op.name)
def test_an_op_taken_for_another_is_found(op: Op) -> None:
    cases = [case for case in cases_of(op, TARGET) if case.dtype is not dtypes.bool_]
    cases = cases or list(cases_of(op, TARGET))
    for case in cases:
        if op in (Op.FLOOR, Op.ROUND) and case.dtype.is_int:
            continue  # whole numbers stay as they are
        if op in (Op.FLOORDIV, Op.FLOORMOD) and case.dtype.is_unsigned:
            continue  # both ways of division are one
        with pytest.raises(pytest.fail.Exception, match="the reference has"):
            compare(wrong(op), PYTHON, batch(TARGET, "one", [case]), contents_of([case]))


class ContractingBench(Bench):
    """A reference that rounds the sum of a product and a number once."""

    def run(
        self, program: Program, contents: Sequence[bytes], values: Sequence[int] = ()
    ) -> list[bytes]:
        uops = tuple(
            make(Op.FMA, None, (*node.src[0].src, node.src[1]))
            if node.op is Op.ADD and node.src[0].op is Op.MUL
            else node
            for node in program.uops
        )
        store = next(node for node in uops if node.op is Op.STORE)
        written = rebuild(store, (store.src[0], next(n for n in uops if n.op is Op.FMA)))
        changed = tuple(written if node is store else node for node in uops[:-1])
        sink = rebuild(uops[-1], (written,))
        return Bench.run(self, replace(program, uops=(*changed, sink)), contents, values)


@pytest.mark.parametrize("dtype", [dtypes.float16, dtypes.float32], ids=lambda dtype: dtype.name)
def test_a_sum_that_is_contracted_with_its_product_is_found(dtype: DType) -> None:
    bench = ContractingBench(PYTHON.registry, PYTHON.runtime, "python", "python")
    program, contents = product_and_sum(TARGET, dtype)
    with pytest.raises(pytest.fail.Exception, match=r"the reference has 0\.0"):
        compare(bench, PYTHON, program, contents)


def test_random_kernels_find_it_too() -> None:
    found = 0
    for seed in range(10):
        kernel = random_kernel(TARGET, seed)
        try:
            compare(wrong(Op.MAX), PYTHON, kernel.program, kernel.contents)
        except pytest.fail.Exception:
            found += 1
    assert found


def test_the_message_names_the_place_and_shows_the_text() -> None:
    case = Case(Op.ADD, dtypes.int8, (dtypes.int8,) * 2, ((1, 2, 3), (0, 0, 4)))
    with pytest.raises(pytest.fail.Exception) as caught:
        compare(wrong(Op.ADD), PYTHON, batch(TARGET, "one", [case]), contents_of([case]))
    message = str(caught.value)
    assert "one: element 2 of argument 0 (int8) is -1; the reference has 7" in message
    assert "argument 2 (int8) holds 4 there" in message
    assert "def one(data0, data1, data2):" in message


def test_equal_bits_agree_and_nans_are_one_value() -> None:
    one, other = (bits.to_bytes(4, "little") for bits in (0x7FC00000, 0xFFC00001))
    zero, minus_zero = (bits.to_bytes(4, "little") for bits in (0, 0x80000000))
    assert first_difference(dtypes.float32, one + zero, other + zero) is None
    assert first_difference(dtypes.float32, one + zero, other + minus_zero) == 1
    assert first_difference(dtypes.uint32, one, other) == 0


def test_what_a_target_does_not_claim_is_not_asked_for() -> None:
    assert cases_of(Op.ADD, replace(TARGET, supported=frozenset())) == []
    assert cases_of(Op.ADD, replace(TARGET, storage=frozenset())) == []


def test_the_same_seed_gives_the_same_kernel() -> None:
    assert random_kernel(TARGET, 5).program.uops == random_kernel(TARGET, 5).program.uops
    assert random_kernel(TARGET, 5).contents == random_kernel(TARGET, 5).contents


def test_a_reduction_of_many_dtypes_is_one_program() -> None:
    program = reductions(TARGET, Op.ADD, [(dtypes.int8, 4), (dtypes.float32, 6)])
    assert [argument.elements for argument in program.arguments] == [1, 4, 1, 6]
