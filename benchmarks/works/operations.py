"""Single operations, and the chains of them that ought to be one pass over memory."""

from __future__ import annotations

from works.work import Arrays, Work, Works, indices, normal

MATMUL_TOLERANCE = {"float32": 1e-4, "bfloat16": 2e-2, "float16": 4e-3}
"""Sums of a few thousand products, each rounded to the dtype once at the end."""

MATMUL_PEERS = frozenset({"numpy", "torch", "jax"})
"""Who is asked for the many shapes of a group; the others are one operation like any other."""


def operations(quick: bool) -> Works:
    """The rows of the table of targets that are one operation."""
    for n in (64,) if quick else (512, 1024, 2048):
        yield matmul(f"matmul f32 {n}", n, n, n, target=0.95)
    n = 64 if quick else 1024
    yield matmul(f"matmul bf16 {n}", n, n, n, target=1.0, dtype="bfloat16")
    yield matmul(f"matmul f16 {n}", n, n, n, target=0.6, dtype="float16")
    yield from _vectors(128 if quick else 4096)
    yield from _streams(quick)
    yield from _orders(1000 if quick else 1_000_000)
    yield from _gathers(1000 if quick else 100_000)
    yield from _windows(8 if quick else 56)
    yield _attention(32 if quick else 512)


def matmul(
    name: str,
    m: int,
    k: int,
    n: int,
    target: float | None = None,
    dtype: str = "float32",
    transposed: str = "",
    group: str = "",
    batch: int = 0,
) -> Work:
    """(m, k) @ (k, n), or a batch of them. `transposed` has the names of inputs stored so."""
    left = (k, m) if "a" in transposed else (m, k)
    right = (n, k) if "b" in transposed else (k, n)
    before = (batch,) if batch else ()

    def inputs() -> Arrays:
        return {
            "a": normal(1, *before, *left, scale=0.1),
            "b": normal(2, *before, *right, scale=0.1),
        }

    wide = 4 if dtype == "float32" else 2
    return Work(
        name=name,
        operation="matmul",
        inputs=inputs,
        target=target,
        dtype=dtype,
        transposed=frozenset(transposed),
        operations=2.0 * m * k * n * (batch or 1),
        nbytes=wide * (m * k + k * n + m * n) * (batch or 1),
        tolerance=MATMUL_TOLERANCE[dtype],
        group=group,
        peers=MATMUL_PEERS if group else frozenset(),
    )


def _vectors(n: int) -> Works:
    def matrix_first() -> Arrays:
        return {"a": normal(1, n, n, scale=0.1), "b": normal(2, n, scale=0.1)}

    def vector_first() -> Arrays:
        return {"a": normal(2, n, scale=0.1), "b": normal(1, n, n, scale=0.1)}

    for name, inputs in (("matrix @ vector", matrix_first), ("vector @ matrix", vector_first)):
        yield Work(f"{name} {n}", "matmul", inputs, 1.0, operations=2.0 * n * n, nbytes=4.0 * n * n)


def _streams(quick: bool) -> Works:
    side = 64 if quick else 4096
    count, size = side * side, f"{side}x{side}"
    flat = "4k" if quick else "16M"

    def square() -> Arrays:
        return {"x": normal(3, side, side)}

    def line() -> Arrays:
        return {"x": normal(3, count, scale=0.5)}

    read, copied = 4.0 * count, 8.0 * count
    yield Work(f"relu(2x+1).exp() {flat}", "chain", line, 0.25, nbytes=copied)
    yield Work(f"sum {flat}", "sum", line, 0.8, options={"axis": None}, nbytes=read)
    yield Work(f"sum axis 0 {size}", "sum", square, 0.5, options={"axis": 0}, nbytes=read)
    yield Work(f"sum axis 1 {size}", "sum", square, 1.05, options={"axis": 1}, nbytes=read)
    yield Work(f"softmax {size}", "softmax", square, 0.75, nbytes=copied)
    width = side // 4

    def rows() -> Arrays:
        return {"x": normal(3, side, width), "gain": normal(4, width), "bias": normal(5, width)}

    yield Work(f"layer norm {side}x{width}", "layer_norm", rows, 0.7, nbytes=copied / 4)
    yield Work(f"cumsum {size}", "cumsum", square, 0.12, nbytes=copied)


def _orders(n: int) -> Works:
    def inputs() -> Arrays:
        return {"x": normal(6, n)}

    yield Work(f"sort {n:,}", "sort", inputs, 0.25, nbytes=8.0 * n, tolerance=0.0)
    yield Work(f"argsort {n:,}", "argsort", inputs, 0.15, nbytes=8.0 * n, tolerance=0.0)


def _gathers(n: int) -> Works:
    def inputs() -> Arrays:
        return {"table": normal(7, n, 64), "rows": indices(8, n, n)}

    yield Work(f"gather {n:,} x 64", "gather", inputs, 0.45, nbytes=512.0 * n, tolerance=0.0)


def _windows(side: int) -> Works:
    batch, channels = (2, 8) if side < 56 else (8, 64)
    size = f"{batch}x{channels}x{side}x{side}"
    places = batch * channels * side * side

    def full() -> Arrays:
        return {
            "x": normal(9, batch, channels, side, side),
            "w": normal(10, channels, channels, 3, 3, scale=0.05),
        }

    def depthwise() -> Arrays:
        return {
            "x": normal(9, batch, channels, side, side),
            "w": normal(10, channels, 1, 3, 3, scale=0.3),
        }

    yield Work(
        f"conv 3x3 {size}",
        "convolution",
        full,
        0.95,
        options={"groups": 1},
        operations=18.0 * places * channels,
        nbytes=8.0 * places,
    )
    yield Work(
        f"depthwise 3x3 {size}",
        "convolution",
        depthwise,
        0.25,
        options={"groups": channels},
        operations=18.0 * places,
        nbytes=8.0 * places,
    )


def _attention(length: int) -> Work:
    shape = (1, 8, length, 64)

    def inputs() -> Arrays:
        return {name: normal(seed, *shape) for seed, name in enumerate("qkv", 11)}

    return Work(
        f"attention causal 1x8x{length}x64",
        "attention",
        inputs,
        0.4,
        operations=2.0 * 8 * length * length * 64,
        nbytes=16.0 * 8 * length * 64,
    )
