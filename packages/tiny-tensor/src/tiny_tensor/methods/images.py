"""Methods for hardware that has images: products through textures, and decoded frames of video."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from tiny_ir import DeviceError, DType
from tiny_plugin import boundary
from tiny_tensor.methods.convolution import ConvolutionMethods
from tiny_tensor.methods.windows import Numbers, Sides


@boundary
class ImageMethods(ConvolutionMethods):
    """What reads through textures elsewhere. Our targets have none: results are those without."""

    __slots__ = ()

    def image_dot(self, other: object, dtype: DType | str | None = None) -> Self:
        """Another name of `dot`: no target of ours has images to read through.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[1, 2], [3, 4]]).image_dot(Tensor([1, 1])).tolist()
            [3, 7]
        """
        return self.dot(other, dtype)

    def image_conv2d(
        self,
        weight: Self,
        bias: Self | None = None,
        groups: int = 1,
        stride: Numbers = 1,
        dilation: Numbers = 1,
        padding: Sides | str = 0,
        dtype: DType | str | None = None,
    ) -> Self:
        """Another name of `conv2d`: no target of ours has images to read through."""
        return self.conv2d(weight, bias, groups, stride, dilation, padding, dtype)

    def decode_hevc_frame(
        self,
        frame_pos: object,
        shape: Sequence[int],
        state: Self,
        ref_frames: Sequence[Self] | None = None,
    ) -> Self:
        """Decode a frame of video where the device can.

        Args:
            frame_pos: which frame.
            shape: of the frame.
            state: of the decoder.
            ref_frames: frames that were decoded before.

        Raises:
            DeviceError: always: no device of ours has a decoder.
        """
        raise DeviceError(
            f"the device {self._device!r} cannot decode video.",
            why="HEVC is decoded by hardware, which no device here offers.",
            fix="decode the frames elsewhere, and pass their bytes: Tensor(data).",
        )
