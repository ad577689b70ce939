"""Writes in place are ordered against readers, whatever is realized first."""

from __future__ import annotations

import pytest

from tiny_ir import (
    ArgumentTypeError,
    DTypeError,
    ShapeError,
    VerificationError,
    WriteError,
    const,
    toposort,
)
from tiny_tensor import Session, Tensor

pytestmark = pytest.mark.usefixtures("session")


def test_a_reader_built_before_a_write_sees_the_old_value() -> None:
    x = Tensor([1, 2])
    reader = x + 10
    x[:1].assign(Tensor([9]))
    Tensor.realize(reader, x)
    assert reader.tolist() == [11, 12]
    assert x.tolist() == [9, 2]


def test_a_reader_sees_the_old_value_also_when_the_write_is_realized_alone() -> None:
    x = Tensor([1, 2])
    reader = x + 10
    x[:1].assign(Tensor([9]))
    x.realize()
    assert reader.tolist() == [11, 12]


def test_a_reader_built_after_a_write_sees_the_new_value() -> None:
    x = Tensor([1, 2])
    x[:1].assign(Tensor([9]))
    assert (x + 10).tolist() == [19, 12]


def test_one_expression_reads_both_versions() -> None:
    x = Tensor([1, 2, 3])
    before = x + 0
    x[1:].assign(Tensor([8, 9]))
    assert (before * 10 + x).tolist() == [11, 28, 39]


def test_a_view_reads_the_newest_version() -> None:
    x = Tensor([[1, 2], [3, 4]])
    row = x[1]
    assert row.tolist() == [3, 4]
    x[:, 0].assign(Tensor([7, 8]))
    assert row.tolist() == [8, 4]


def test_a_write_through_a_view_writes_the_box() -> None:
    x = Tensor([[1, 2, 3], [4, 5, 6]])
    x.permute(1, 0).reshape(3, 2)[2].assign(Tensor([30, 60]))
    assert x.tolist() == [[1, 2, 30], [4, 5, 60]]


def test_a_whole_write_through_a_reordered_view_puts_elements_back_in_order() -> None:
    x = Tensor([[1, 2, 3], [4, 5, 6]])
    x.permute(1, 0)[::-1].assign(Tensor([[0, 1], [2, 3], [4, 5]]))
    assert x.tolist() == [[4, 2, 0], [5, 3, 1]]


def test_a_value_is_read_completely_before_it_is_written() -> None:
    x = Tensor([1, 2, 3, 4])
    x[1:].assign(x[:-1])
    assert x.tolist() == [1, 1, 2, 3]
    x.assign(x[::-1])
    assert x.tolist() == [3, 2, 1, 1]


def test_a_copy_keeps_its_data() -> None:
    x = Tensor([1, 2, 3])
    y = Tensor([0, 0, 0]).assign(x)
    x[0].assign(9)
    assert y.tolist() == [1, 2, 3]
    y[1].assign(7)
    assert x.tolist() == [9, 2, 3]
    assert y.tolist() == [1, 7, 3]


def test_a_write_into_a_constant_gets_memory_of_its_own() -> None:
    x, y = Tensor.zeros(3, dtype="int32"), Tensor.zeros(3, dtype="int32")
    x[1].assign(5)
    assert x.tolist() == [0, 5, 0]
    assert y.tolist() == [0, 0, 0]


def test_two_boxes_with_one_version_are_written_apart() -> None:
    x = Tensor([1, 2, 3]).realize()
    y = Tensor([0, 0, 0]).assign(x)
    x[0].assign(10)
    y[0].assign(20)
    Tensor.realize(x, y)
    assert x.tolist() == [10, 2, 3]
    assert y.tolist() == [20, 2, 3]


def test_many_writes_run_in_the_order_they_were_made() -> None:
    x = Tensor.zeros(6, dtype="int32")
    for n in range(1, 6):
        x[n].assign(x[n - 1] + n)
    assert x.tolist() == [0, 1, 3, 6, 10, 15]


def test_slices_of_every_kind_are_written() -> None:
    def zeros() -> Tensor:
        return Tensor.zeros(4, 4, dtype="int32")

    n = zeros()
    n[3:0:-2, 1:] = [1, 2, 3]
    assert n.tolist() == [[0, 0, 0, 0], [0, 1, 2, 3], [0, 0, 0, 0], [0, 1, 2, 3]]
    n = zeros()
    n[2:2] = 9
    assert n.tolist() == [[0] * 4] * 4
    n = zeros()
    n[1:, ::3] = 5
    assert n.tolist() == [[0, 0, 0, 0]] + [[5, 0, 0, 5]] * 3


def test_a_write_in_place_stays_in_its_memory(session: Session) -> None:
    x = Tensor([1, 2, 3, 4]).realize()
    place = session.allocation_of(x.uop.src[0] if x.uop.src else x.uop)
    x[1].assign(7)
    x.realize()
    node = x.uop
    while node.src:
        node = node.src[0]
    assert session.allocation_of(node) is place


def test_an_expanded_view_is_not_written() -> None:
    with pytest.raises(WriteError, match="expanded"):
        Tensor([[1, 2]]).expand(3, 2).assign(0)


def test_a_padded_view_is_not_written() -> None:
    x = Tensor([1, 2])
    padded = x._view(x.uop.pad([(1, 1)]))
    with pytest.raises(WriteError, match="padded"):
        padded.assign(0)


def test_overlapping_windows_are_not_written() -> None:
    with pytest.raises(WriteError, match="overlapping"):
        Tensor([1, 2, 3]).unfold(0, 2, 1).assign(0)


def test_windows_side_by_side_are_written() -> None:
    x = Tensor([1, 2, 3, 4, 5])
    x.unfold(0, 2, 2).assign(Tensor([[10, 20], [30, 40]]))
    assert x.tolist() == [10, 20, 30, 40, 5]


def test_a_write_changes_no_dtype_and_no_shape() -> None:
    x = Tensor([1, 2])
    with pytest.raises(DTypeError, match="float32"):
        x.assign(Tensor([1.0, 2.0]))
    with pytest.raises(ShapeError):
        x.assign(Tensor([1, 2, 3]))
    assert x.tolist() == [1, 2]


def test_writes_through_a_view_of_the_whole_do_not_pile_up() -> None:
    count = Tensor([0]).reshape(())
    for _ in range(3):
        count.assign(count + 1)
        count.realize()
        assert len(toposort([count.uop])) == 2  # a view of memory
    assert count.item() == 3


def test_a_written_value_of_a_view_that_was_realized_before_is_computed_once() -> None:
    x = Tensor([1, 2, 3, 4]) + 1
    wide = x.unsqueeze(0).expand(3, 4)
    wide.realize()
    z = wide + 1
    z[0] = 1
    z.realize()
    assert z.tolist() == [[1, 1, 1, 1], [3, 4, 5, 6], [3, 4, 5, 6]]


def test_a_version_that_comes_after_several_writes_is_refused_and_not_half_done() -> None:
    x = Tensor([1, 2, 3])
    node = x.uop
    first, second = (
        node.shrink([(at, at + 1)]).store(const(node.dtype, 9).reshape((1,))) for at in (0, 2)
    )
    x._storage.put(node.after(first, second))
    with pytest.raises(VerificationError, match="several writes"):
        x.realize()


def test_nothing_is_no_value_to_write() -> None:
    x = Tensor([1.0, 2.0])
    with pytest.raises(ArgumentTypeError, match="None"):
        x[0] = None
    with pytest.raises(ArgumentTypeError, match="None"):
        x.assign(None)
    assert x.tolist() == [1.0, 2.0]


def test_a_view_keeps_what_its_box_is_computed_from() -> None:
    x = Tensor([0.0, 1.0, 2.0, 3.0])
    view = x.reshape(2, 2).permute(1, 0).contiguous().reshape(4)
    x[1:3] = x[2:4]
    later = x.flip(0) + 0.0
    x.assign(view)  # from here on the view is in memory as soon as x is, and its box is not
    assert x.tolist() == [0.0, 2.0, 1.0, 3.0]
    assert later.tolist() == [3.0, 3.0, 2.0, 0.0]
    assert view.tolist() == [0.0, 2.0, 1.0, 3.0]
    view[0] = 7.0
    assert (view.tolist(), x.tolist()) == ([7.0, 2.0, 1.0, 3.0], [0.0, 2.0, 1.0, 3.0])


def test_a_write_through_a_view_reaches_its_own_box() -> None:
    view = Tensor([[0.0, 2.0], [1.0, 3.0]]).permute(1, 0).contiguous().reshape(4)
    other = Tensor([9.0] * 4)
    other.assign(view)
    # The view is known from what other was computed by, before its box is.
    assert other.tolist() == view.tolist() == [0.0, 1.0, 2.0, 3.0]
    view[0] = 7.0
    assert (view.tolist(), other.tolist()) == ([7.0, 1.0, 2.0, 3.0], [0.0, 1.0, 2.0, 3.0])
