"""Tensors over several devices: what is asked for, and what is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from tiny_ir import ArgumentError, ShapeError, UnsupportedError
from tiny_plugin import boundary
from tiny_tensor.session import current_session
from tiny_tensor.tensor_core import TensorCore


@boundary
class ShardingMethods(TensorCore):
    """Placement. One device is all that a tensor may live on so far."""

    __slots__ = ()

    if TYPE_CHECKING:

        def to(self, device: str | Sequence[str] | None) -> Self:
            """This tensor on another device; see `Tensor.to`."""

    def to_(self, device: str | Sequence[str] | None) -> Self:
        """Move this tensor to another device; its views stay where they are.

        Returns:
            The tensor itself.

        Raises:
            PluginError: there is no such device.

        Example:
            >>> from tiny_tensor import Tensor
            >>> x = Tensor([1, 2])
            >>> x.to_("cpu").device
            'cpu'
        """
        moved = self.to(device)
        if moved is not self:
            self._storage, self._seen = moved._storage, moved._seen
            self._device, self.grad = moved._device, moved.grad
        return self

    def shard(self, devices: Sequence[str], axis: int | None = None) -> Self:
        """This tensor over several devices: a copy on each, or parts along an axis.

        Args:
            devices: where. One is what `to` does.
            axis: which axis is divided; None copies the whole.

        Raises:
            ArgumentError: no device is named.
            AxisError: there is no such axis.
            ShapeError: the axis cannot be divided into parts of one size.
            UnsupportedError: there are several devices: the ops that tell the parts apart, and the
                collectives between them, are not there yet.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1, 2]).shard(("cpu",), axis=0).tolist()
            [1, 2]
        """
        names = [current_session().device_name(device) for device in devices]
        if not names:
            raise ArgumentError(
                "a tensor lives somewhere.",
                why="no device is named.",
                fix="name at least one.",
            )
        if axis is not None:
            size = self.shape[self._resolve_axis(axis)]
            if not isinstance(size, int) or size % len(names):
                raise ShapeError(
                    f"an axis of size {size} cannot be divided over {len(names)} devices.",
                    why="each has as much of it as the others.",
                    fix="pad the axis, or choose another number of devices.",
                )
        if len(set(names)) > 1:
            raise UnsupportedError(
                f"a tensor cannot live on {', '.join(names)} together.",
                why="sharded tensors need ops that tell their parts apart, and collectives between "
                "devices, which are not there yet.",
                fix="keep a tensor for each device: x.to(device), and combine them by copies.",
            )
        return self.to(names[0])

    def shard_(self, devices: Sequence[str], axis: int | None = None) -> Self:
        """Move this tensor, as `shard` says.

        Returns:
            The tensor itself.
        """
        moved = self.shard(devices, axis)
        return self.to_(moved.device)

    def shard_like(self, other: Self) -> Self:
        """This tensor where another one is."""
        return self.to(other.device)
