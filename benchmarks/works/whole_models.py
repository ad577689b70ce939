"""Whole networks: one pass forward, and one step of training."""

from __future__ import annotations

from works.work import Arrays, Work, Works, indices, normal

RESNET_OPERATIONS = 3.63e9
"""Of one image of 224x224: two for each multiply-add of its convolutions and its last layer."""

CONVNET_OPERATIONS = 3 * 26.4e6
"""Of one image: forward, and twice that backward."""


def whole_models(quick: bool) -> Works:
    """ResNet-18 forward, and a training step of a convolutional net for MNIST."""
    side = 32 if quick else 224

    def image() -> Arrays:
        return {"x": normal(20, 1, 3, side, side)}

    yield Work(
        "ResNet-18 forward, batch 1",
        "resnet18",
        image,
        1.0,
        operations=RESNET_OPERATIONS * (side / 224) ** 2,
        tolerance=1e-3,
    )
    batch = 8 if quick else 512

    def digits() -> Arrays:
        return {"x": normal(21, batch, 1, 28, 28), "labels": indices(22, batch, 10)}

    yield Work(
        f"MNIST convnet training step, batch {batch}",
        "convnet_step",
        digits,
        0.8,
        operations=CONVNET_OPERATIONS * batch,
        tolerance=2e-3,
    )
