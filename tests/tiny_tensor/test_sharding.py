"""Placement of tensors: in place, like another, and on several devices."""

from __future__ import annotations

import pytest

from tiny_ir import ArgumentError, AxisError, DeviceError, ShapeError, UnsupportedError
from tiny_tensor import Tensor

pytestmark = pytest.mark.usefixtures("session")


def test_a_tensor_moves_in_place_and_its_views_stay() -> None:
    x = Tensor([1, 2, 3])
    x.grad = Tensor([4, 5, 6])
    view = x[1:]
    assert x.to_("python") is x
    assert (x.device, x.grad.device, view.device) == ("python", "python", "cpu")
    assert ((x + 1).tolist(), view.tolist()) == ([2, 3, 4], [2, 3])


def test_one_device_is_a_move() -> None:
    x = Tensor([[1, 2], [3, 4]])
    moved = x.shard(("python",), axis=-1)
    assert (moved.device, moved.tolist()) == ("python", x.tolist())
    assert x.to(("python",)).device == x.shard_(["python"]).device == "python"
    assert Tensor([1]).shard_like(x).device == "python"


def test_several_devices_say_what_is_missing() -> None:
    x = Tensor([[1, 2], [3, 4]])
    with pytest.raises(UnsupportedError, match="collectives"):
        x.shard(("cpu", "python"), axis=0)
    with pytest.raises(UnsupportedError, match="collectives"):
        x.to(("cpu", "python"))
    with pytest.raises(ShapeError, match="divided over 3"):
        x.shard(("cpu", "cpu:1", "python"), axis=0)
    with pytest.raises(AxisError):
        x.shard(("cpu", "python"), axis=2)
    with pytest.raises(ArgumentError, match="no device"):
        x.shard(())


def test_no_device_decodes_video() -> None:
    state = Tensor(b"")
    with pytest.raises(DeviceError, match="decode"):
        state.decode_hevc_frame(0, (1080, 1920), state)


def test_products_through_images_are_products() -> None:
    x, w = Tensor.arange(16).reshape(1, 1, 4, 4), Tensor.arange(4).reshape(1, 1, 2, 2)
    assert x[0, 0].image_dot(x[0, 0]).tolist() == x[0, 0].dot(x[0, 0]).tolist()
    assert x.image_conv2d(w, stride=2).tolist() == x.conv2d(w, stride=2).tolist()
