"""The demo learns to read digits, and says what is missing where it cannot."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest

from tiny_ir import ArgumentError
from tiny_plugin import MissingExtraError
from tiny_tensor import demo
from tiny_tensor.cli import main
from tiny_tensor.cli.demo import Demo

pytestmark = pytest.mark.usefixtures("session")


def test_a_fifth_of_each_kind_is_for_testing() -> None:
    data = demo.digits()
    learned, tested = data.labels.numpy(), data.test_labels.numpy()
    assert len(learned) + len(tested) == 1797
    for kind in range(10):
        count = int((learned == kind).sum() + (tested == kind).sum())
        assert int((tested == kind).sum()) == count // 5


def test_the_division_is_the_same_every_time() -> None:
    first, second = demo.digits(), demo.digits()
    np.testing.assert_array_equal(first.test_images.numpy(), second.test_images.numpy())


def test_images_are_light_and_dark() -> None:
    images = demo.digits().images.numpy()
    assert images.shape[1:] == (1, 8, 8)
    assert (images.min(), images.max()) == (0, 1)


def test_it_learns_to_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    said, bar = capsys.readouterr()
    found = re.search(r"test accuracy\s+([\d.]+)%", said)
    assert found is not None
    assert float(found[1]) >= 97
    for word in ("device", "kernels", "compiling", "running"):
        assert word in said
    assert "264/264" in bar


def test_one_seed_gives_one_result(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--epochs", "1", "--seed", "5"]
    results = []
    for _ in range(2):
        assert Demo().run(words) == 0
        results.append(capsys.readouterr().out.splitlines()[0])
    assert results[0] == results[1]


@pytest.mark.parametrize(
    "words", [["--epochs", "0"], ["--batch", "0"], ["--batch", "5000"]], ids=" ".join
)
def test_what_cannot_be_trained_is_refused(words: list[str]) -> None:
    with pytest.raises(ArgumentError, match=words[0]):
        Demo().run(words)


def test_a_missing_collection_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(MissingExtraError, match=r"tiny-tensor\[demo\]"):
        demo.digits()


def test_a_missing_progress_bar_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(MissingExtraError, match=r"tiny-tensor\[demo\]"):
        demo.progress_bar(1)
