"""How time grows with size, and compile time with the size of a graph."""

from __future__ import annotations

from works.operations import matmul
from works.work import Arrays, Work, Works, normal

NUMPY = frozenset({"numpy"})


def growth(quick: bool) -> Works:
    """Matmul, sum, sort, and the first call of graphs of 10 to 10,000 operations."""
    for n in (32, 64) if quick else (32, 64, 128, 256, 512, 1024, 2048):
        work = matmul(f"matmul {n}", n, n, n, group="matmul n x n")
        yield work._replace(size=n, peers=NUMPY)
    for power in (10, 12) if quick else range(10, 25, 2):
        yield _of_line("sum", 1 << power)
    for power in (10, 12) if quick else range(10, 21, 2):
        yield _of_line("sort", 1 << power)
    for count in (10, 30) if quick else (10, 30, 100, 300, 1000, 3000, 10_000):
        yield _graph(count)


def _of_line(operation: str, n: int) -> Work:
    def inputs() -> Arrays:
        return {"x": normal(50, n)}

    return Work(
        f"{operation} {n:,}",
        operation,
        inputs,
        options={"axis": None} if operation == "sum" else {},
        group=f"{operation} of n",
        peers=NUMPY,
        size=n,
    )


def _graph(count: int) -> Work:
    def inputs() -> Arrays:
        return {"x": normal(51, 16, 16)}

    return Work(
        f"first call of {count:,} ops",
        "long_graph",
        inputs,
        options={"count": count},
        tolerance=1e-3,
        group="first call of n ops",
        peers=frozenset({"jax"}) if count <= JAX_OPS else frozenset({"none"}),
        size=count,
    )


JAX_OPS = 1000
"""Its compile time for longer graphs is minutes."""
