"""Which reductions are cut in parts, and that the parts give what the whole would."""

from __future__ import annotations

import numpy as np
import pytest

from tiny_codegen.kernels import split_reduce
from tiny_codegen.kernels.split_reduce import SPLIT_REDUCE
from tiny_ir import Op, UOp, rewrite, toposort

from ..graphs import Sheet, matmul


def parts_of(value: UOp) -> int:
    """How many reductions follow each other."""
    return sum(node.op is Op.REDUCE for node in toposort((rewrite(value, SPLIT_REDUCE),)))


def memory(*shape: int) -> UOp:
    return Sheet().memory(np.zeros(shape, np.float32))


@pytest.mark.parametrize(("shape", "count"), [((1 << 20,), 2), ((1 << 12,), 1), ((64, 1 << 16), 2)])
def test_a_long_reduction_to_few_results_is_shared_by_workers(
    shape: tuple[int, ...], count: int
) -> None:
    assert parts_of(memory(*shape).reduce(Op.ADD, (len(shape) - 1,))) == count


def filters_of(images: int) -> UOp:
    """Each pixel of one image times each of another, summed over all pairs of images."""
    x, y = memory(images, 32, 100), memory(images, 48, 100)
    shape = (32, 48, images, 100)
    left = x.permute((1, 0, 2)).reshape((32, 1, images, 100)).expand(shape)
    right = y.permute((1, 0, 2)).reshape((1, 48, images, 100)).expand(shape)
    return (left * right).reduce(Op.ADD, (2, 3))


def test_what_is_used_often_and_fits_no_cache_is_cut_where_it_begins() -> None:
    assert parts_of(filters_of(256)) == 2


def test_what_fits_a_cache_is_not_cut() -> None:
    assert parts_of(filters_of(16)) == 1


def test_a_product_of_matrices_with_few_terms_a_result_is_not_cut() -> None:
    assert parts_of(matmul(memory(1024, 1024), memory(1024, 1024))) == 1


def test_the_parts_give_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_reduce, "CACHED_NBYTES", 2048)
    monkeypatch.setattr(split_reduce, "TERMS_A_RESULT", 8)
    monkeypatch.setattr(split_reduce, "MUCH_USED", 4)
    draw = np.random.default_rng(0)
    x = draw.integers(-3, 4, (12, 17, 10)).astype(np.float32)
    y = draw.integers(-3, 4, (12, 19, 10)).astype(np.float32)
    sheet = Sheet()
    shape = (17, 19, 12, 10)
    left = sheet.memory(x).permute((1, 0, 2)).reshape((17, 1, 12, 10)).expand(shape)
    right = sheet.memory(y).permute((1, 0, 2)).reshape((1, 19, 12, 10)).expand(shape)
    slot = sheet.output((left * right).reduce(Op.ADD, (2, 3)))
    assert len(sheet.schedule().steps) == 2
    assert np.array_equal(sheet.run()[slot], np.einsum("nap,nbp->ab", x, y))
