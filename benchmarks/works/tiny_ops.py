"""Many operations too small to matter: what is left is the cost of asking for them."""

from __future__ import annotations

from works.work import Arrays, Work, Works, normal


def tiny_ops(quick: bool) -> Works:
    """Chains of 200 small operations, replayed where a library can replay."""
    count = 20 if quick else 200

    def line() -> Arrays:
        return {"x": normal(30, 4)}

    def square() -> Arrays:
        return {"x": normal(31, 16, 16), "w": normal(32, 16, 16, scale=0.25)}

    yield Work(f"{count} adds of 4 elements, replayed", "adds", line, 0.1, options={"count": count})
    yield Work(
        f"{count} tanh(x @ w) of 16x16, replayed",
        "products",
        square,
        0.3,
        options={"count": count},
        tolerance=1e-3,
    )
    yield Work(
        f"{count} adds of 4 elements, each alone",
        "eager_adds",
        line,
        None,
        options={"count": count},
    )
