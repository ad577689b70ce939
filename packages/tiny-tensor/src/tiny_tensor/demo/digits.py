"""Handwritten digits, divided into those to learn from and those to be tested on."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from tiny_plugin import record
from tiny_tensor.demo.driver import bundled_digits
from tiny_tensor.tensor import Tensor

if TYPE_CHECKING:
    from tiny_tensor.arrays import Array

TEST_PART = 5
"""One image of each so many is for the test."""
SPLIT_SEED = 0
HIGHEST_GREY = 16.0


@record(frozen=True, slots=True)
class Digits:
    """Images with what they show.

    Args:
        images: (n, 1, 8, 8) float32, from 0 to 1, to learn from.
        labels: (n,) int32, from 0 to 9.
        test_images: like `images`, never learned from.
        test_labels: like `labels`.
    """

    images: Tensor
    labels: Tensor
    test_images: Tensor
    test_labels: Tensor

    @property
    def count(self) -> int:
        """How many images there are to learn from."""
        return len(self.labels)


def digits() -> Digits:
    """The 1,797 digits: a fifth of each kind, the same in every run, is for testing.

    Raises:
        MissingExtraError: scikit-learn is not installed.
    """
    images, labels = bundled_digits()
    places: dict[int, list[int]] = {}
    for place, label in enumerate(labels.tolist()):
        places.setdefault(label, []).append(place)
    shuffler = random.Random(SPLIT_SEED)
    learned: list[int] = []
    tested: list[int] = []
    for _, of_kind in sorted(places.items()):
        shuffler.shuffle(of_kind)
        cut = len(of_kind) // TEST_PART
        tested += of_kind[:cut]
        learned += of_kind[cut:]
    return Digits(
        _images(images, learned),
        _labels(labels, learned),
        _images(images, tested),
        _labels(labels, tested),
    )


def _images(images: Array, places: list[int]) -> Tensor:
    grey = images[places].astype("float32") / HIGHEST_GREY
    return Tensor(grey.reshape(-1, 1, 8, 8))


def _labels(labels: Array, places: list[int]) -> Tensor:
    return Tensor(labels[places].astype("int32"))
