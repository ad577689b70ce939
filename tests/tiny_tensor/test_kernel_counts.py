"""Functions are few kernels, and no more work than they need."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest

from tiny_tensor import Session, Tensor

pytestmark = pytest.mark.usefixtures("session")

ROWS, COLUMNS = 32, 64
NULL = "null"


def full(value: float, *shape: int) -> Tensor:
    """Memory on the device that only counts."""
    return Tensor.full(shape, value, device=NULL).contiguous().realize()


def cost(session: Session, function: Callable[[], Tensor | Sequence[Tensor]]) -> tuple[int, int]:
    """The kernels that a function takes, and the operations that its Programs estimate."""
    kernels, operations = session.counters.kernels, session.counters.operations
    result = function()
    results = [result] if isinstance(result, Tensor) else result
    results[0].realize(*results[1:])
    return session.counters.kernels - kernels, session.counters.operations - operations


FEW: dict[str, tuple[int, Callable[[Tensor, Tensor], Tensor | Sequence[Tensor]]]] = {
    "softmax": (1, lambda x, y: x.softmax(1)),
    "log_softmax": (1, lambda x, y: x.log_softmax(1)),
    "layernorm": (1, lambda x, y: x.layernorm()),
    "logsumexp": (2, lambda x, y: x.logsumexp(1)),
    "var": (1, lambda x, y: x.var(1)),
    "var_mean": (2, lambda x, y: x.var_mean(1)),
    "std": (2, lambda x, y: x.std()),
    "norm": (1, lambda x, y: x.norm()),
    "normalize": (1, lambda x, y: x.normalize()),
    "cross_entropy": (3, lambda x, y: x.cross_entropy(y)),
    "nll_loss": (3, lambda x, y: x.log_softmax(1).nll_loss(y)),
    "mean": (1, lambda x, y: x.mean()),
    "argmax": (1, lambda x, y: x.argmax(1)),
    "matmul": (1, lambda x, y: (x @ x.transpose()).relu() + 1),
    "gather": (1, lambda x, y: x.gather(1, y.reshape(ROWS, 1))),
    "rows": (1, lambda x, y: x[y]),
    "scatter": (2, lambda x, y: x.scatter(1, y.reshape(ROWS, 1), 1.0)),
    "cumsum": (1, lambda x, y: x.cumsum(1)),
    "elementwise": (1, lambda x, y: ((x.exp() * 2 + x.sin()).tanh() > 0).where(x, -x)),
}


@pytest.mark.parametrize("name", FEW)
def test_functions_are_few_kernels(name: str, session: Session) -> None:
    most, function = FEW[name]
    x, y = full(0.5, ROWS, COLUMNS), full(1, ROWS)
    kernels, _ = cost(session, lambda: function(x, y))
    assert kernels <= most


LINEAR: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor | Sequence[Tensor]]] = {
    "cumsum": lambda x, index, table: x.cumsum(),
    "cummax": lambda x, index, table: x.cummax(),
    "logcumsumexp": lambda x, index, table: x.logcumsumexp(),
    "gather": lambda x, index, table: x.gather(0, index),
    "rows": lambda x, index, table: table[index],
    "scatter": lambda x, index, table: x.scatter(0, index, x),
    "scatter add": lambda x, index, table: x.scatter(0, index, x, reduce="add"),
    "gradient of rows": lambda x, index, table: table[index].sum().gradient(table),
    "nonzero": lambda x, index, table: x.nonzero(size=8),
    "masked_select": lambda x, index, table: x.masked_select(x > 0, size=8),
}


@pytest.mark.parametrize("name", LINEAR)
def test_work_grows_with_the_size(name: str, session: Session) -> None:
    work = []
    for size in (512, 4096):
        arguments = full(0.5, size), full(1, size), full(0.5, size, 4)
        work.append(cost(session, lambda given=arguments: LINEAR[name](*given))[1])  # type: ignore[misc]
    small, large = work
    assert small > 0
    assert large <= small * 8 * 1.1


@pytest.mark.parametrize("name", ["sort", "argsort", "topk"])
def test_sorting_takes_n_log_squared_n_steps(name: str, session: Session) -> None:
    """Below 1025 all pairs are compared, which is less to launch."""
    work = []
    sizes = (2**12, 2**14)
    for size in sizes:
        x = full(0.5, size)
        argument = (16,) if name == "topk" else ()
        work.append(cost(session, lambda x=x, given=argument: getattr(x, name)(*given))[1])  # type: ignore[misc]
    bounds = [size * math.log2(size) ** 2 for size in sizes]
    assert work[1] / work[0] <= 1.1 * bounds[1] / bounds[0]
    assert work[1] <= 32 * bounds[1]


def test_no_position_becomes_a_row_of_zeros_and_ones(session: Session) -> None:
    """A table of a million rows is read at three of them, and written at three."""
    table, index = full(0.5, 2**20, 2), full(1, 3)
    assert cost(session, lambda: table[index])[1] < 1000
    assert cost(session, lambda: table.gather(0, index.reshape(3, 1)))[1] < 1000
    written = cost(session, lambda: table.scatter(0, index.reshape(3, 1), 1.0))[1]
    assert written <= 3 * 2**21
