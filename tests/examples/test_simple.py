"""The second code generator: one kernel an op, and the same results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tiny_ir import Op, ParamArg, UOp, dtypes, make, verify_program
from tiny_plugin import Launch, Options, Registry, Schedule
from tiny_tensor import Session, Tensor

TENSOR_TESTS = Path(__file__).parents[1] / "tiny_tensor"

# Each room of the language has a file here; `hatch run wheels` runs larger ones.
FAST = ("test_jit.py", "test_symbolic_sizes.py", "test_writes.py")


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    """A Session with the second code generator, on a device that has every op."""
    monkeypatch.setenv("TINY_CODEGEN", "simple")
    with Session(device="python", cache_folder="") as opened:
        yield opened


def kernels_of(session: Session, tensor: Tensor) -> int:
    """Return how many kernels run to compute a tensor."""
    before = session.counters.kernels
    tensor.realize()
    return session.counters.kernels - before


def parameter(slot: int, elements: int) -> UOp:
    """Return a buffer of a graph."""
    return make(Op.PARAM, dtypes.float32, (), ParamArg(slot, elements, "python"))


def schedule_of(*effects: UOp) -> Schedule:
    """Return what it makes of a graph."""
    registry = Registry()
    generator, target = registry.open_codegen("simple"), registry.open_runtime("python").target
    return generator.schedule(make(Op.SINK, None, effects), {"python": target}, Options())


def test_its_programs_are_right() -> None:
    x = parameter(0, 12).reshape((3, 4))
    windows = x.permute((1, 0)).pad([(1, 2), (0, 0)]).flip((0,)).window(0, 3, 2)
    total = windows.reduce(Op.MAX, (1,)).fold(0, 7, 2).reduce(Op.ADD, (0,))
    schedule = schedule_of(parameter(1, 1).store(total.reshape((1,))))
    programs = [step.program for step in schedule.steps if isinstance(step, Launch)]
    assert len(programs) > 6
    for program in programs:
        verify_program(program.uops)


def test_an_op_more_is_a_kernel_more(session: Session) -> None:
    words = ("exp", "sin", "sqrt")
    counts = []
    for length in (1, 2, 3):
        x = Tensor([1.0, 2.0, 3.0])
        for word in words[:length]:
            x = getattr(x, word)()
        counts.append(kernels_of(session, x))
    assert counts == [counts[0], counts[0] + 1, counts[0] + 2]


def test_a_step_of_a_recurrence_is_the_same_kernels_again(session: Session) -> None:
    counts = [kernels_of(session, Tensor([1.0] * n).cumsum()) for n in (3, 4, 5)]
    assert counts[2] - counts[1] == counts[1] - counts[0] > 0


def test_a_write_reads_its_value_first(session: Session) -> None:
    x = Tensor([1, 2, 3, 4]).realize()
    x[1:] = x[:3]
    assert x.tolist() == [1, 1, 2, 3]
    x.assign(x.flip(0))
    assert x.tolist() == [3, 2, 1, 1]


def test_a_recurrence_stands_in_the_step_of_another(session: Session) -> None:
    rows = Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert rows.cumsum(1).cumsum(0).tolist() == [[1.0, 3.0], [4.0, 10.0]]


@pytest.mark.parametrize("file", FAST)
def test_the_tensor_tests_pass(run: Callable[..., str], file: str) -> None:
    # Nothing is fused, so what is computed where it is read elsewhere is memory here: all of it.
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", "not far_away")
    settings = {"TINY_CODEGEN": "simple", "TINY_DEVICE": "python"}
    assert " passed" in run(*words, str(TENSOR_TESTS / file), **settings)
