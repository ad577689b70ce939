"""The products of one token of a language model with 4-bit weights."""

from __future__ import annotations

from models.smollm2 import FULL, SMALL, weights_file
from works.work import Arrays, Work, Works, normal

NBYTES_A_WEIGHT = 20 / 32
"""Of Q4_1: 16 bytes of numbers, a scale and a minimum of 2 bytes for 32 weights."""


def quantized(quick: bool) -> Works:
    """All products of matrices and vectors, with activations in int8 and in float32."""
    sizes = SMALL if quick else FULL
    width, hidden = sizes.width, sizes.hidden
    each = width * (2 * width + 2 * sizes.kept + 3 * hidden)
    weights = sizes.layers * each + sizes.words * width
    nbytes = sizes.layers * each * NBYTES_A_WEIGHT + sizes.words * width * 34 / 32
    origin = "SmolLM2 Q4_1" if weights_file() and not quick else "random Q4_1 like SmolLM2's"

    def inputs() -> Arrays:
        return {"x": normal(60, width), "hidden": normal(61, hidden)}

    for activations, target, tolerance in (("int8", 0.36, 3e-2), ("float32", 0.7, 1e-4)):
        yield Work(
            f"{origin}, products of a token, activations {activations}",
            "matvecs",
            inputs,
            target,
            options={"layers": sizes.layers, "activations": activations},
            operations=2.0 * weights,
            nbytes=nbytes,
            tolerance=tolerance,
        )
