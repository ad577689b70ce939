"""Which operands of a reduction are laid out anew, and that nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest

from tiny_codegen.kernels import lay_operands
from tiny_codegen.kernels.lay_operands import LAY_OPERANDS
from tiny_ir import Op, UOp, dtypes, rewrite, toposort

from ..graphs import Sheet, matmul


def memory(*shape: int) -> UOp:
    return Sheet().memory(np.zeros(shape, np.float32))


def copies_in(product: UOp) -> int:
    return sum(node.op is Op.CONTIGUOUS for node in toposort((rewrite(product, LAY_OPERANDS),)))


def test_a_transposed_left_matrix_is_copied_once() -> None:
    left, right = memory(512, 512), memory(512, 512)
    assert copies_in(matmul(left.permute((1, 0)), right)) == 1


def test_matrices_that_are_read_along_their_rows_are_not() -> None:
    left, right = memory(512, 512), memory(512, 512)
    assert copies_in(matmul(left, right)) == 0
    assert copies_in(matmul(left, right.permute((1, 0)))) == 0


def test_a_matrix_that_a_cache_holds_is_not() -> None:
    left, right = memory(128, 128), memory(128, 512)
    assert copies_in(matmul(left.permute((1, 0)), right)) == 0


def test_a_matrix_that_is_used_a_few_times_is_not() -> None:
    left, right = memory(512, 512), memory(512, 16)
    assert copies_in(matmul(left.permute((1, 0)), right)) == 0


def test_what_is_read_element_by_element_is_converted_once() -> None:
    left = Sheet().memory(np.zeros((512, 512), np.float16)).cast(dtypes.float32)
    assert copies_in(matmul(left, memory(512, 512))) == 1


@pytest.mark.parametrize(("stride", "count"), [(1, 0), (2, 1)])
def test_what_is_read_in_strides_gets_its_edges_once(stride: int, count: int) -> None:
    windows = memory(16, 64, 64).pad(((0, 0), (1, 1), (1, 1))).window(1, 3, stride)
    windows = windows.window(2, 3, stride)
    _, height, width, _, _ = windows.shape
    shape = (96, 16, height, width, 3, 3)
    left = windows.reshape((1, *windows.shape)).expand(shape)
    right = memory(96, 16, 3, 3).reshape((96, 16, 1, 1, 3, 3)).expand(shape)
    assert copies_in((left * right).reduce(Op.ADD, (1, 4, 5))) == count


def test_what_lanes_read_is_converted_by_them() -> None:
    right = Sheet().memory(np.zeros((512, 512), np.float16)).cast(dtypes.float32)
    assert copies_in(matmul(memory(512, 512), right)) == 0


@pytest.mark.parametrize("size", [0, 1024])
def test_what_is_reduced_whole_stays(size: int) -> None:
    """No axis is left that lanes could take."""
    narrow = Sheet().memory(np.zeros((min(size, 1),), np.float16)).cast(dtypes.float32)
    wide = narrow.expand((size,))
    assert copies_in((wide * wide).reduce(Op.ADD, (0,))) == 0
    edges = memory(1, 1).pad(((0, 1), (0, 0))).expand((2, size))
    assert copies_in((edges * edges).reduce(Op.ADD, (0, 1))) == 0


def test_the_product_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lay_operands, "MUCH_USED", 2)
    monkeypatch.setattr(lay_operands, "LONG_NBYTES", 2)
    monkeypatch.setattr(lay_operands, "LONG_STEP_NBYTES", 8)
    draw = np.random.default_rng(0)
    left = draw.integers(-4, 5, (6, 9)).astype(np.float32)
    right = draw.integers(-4, 5, (6, 17)).astype(np.float32)
    sheet = Sheet()
    slot = sheet.output(matmul(sheet.memory(left).permute((1, 0)), sheet.memory(right)))
    assert len(sheet.schedule().steps) == 2
    assert np.array_equal(sheet.run()[slot], left.T @ right)
