"""What a tensor is like: sizes in elements and in bytes, and the family of its dtype."""

from __future__ import annotations

from tiny_ir import Shape, Size, bounds, product
from tiny_plugin import boundary
from tiny_tensor.tensor_core import TensorCore


@boundary
class DescribingMethods(TensorCore):
    """Facts that need no computing."""

    __slots__ = ()

    def size(self, dim: int | None = None) -> Size | Shape:
        """The shape, or the size of one axis.

        Raises:
            AxisError: there is no such axis.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor.zeros(2, 3).size(), Tensor.zeros(2, 3).size(-1)
            ((2, 3), 3)
        """
        return self.shape if dim is None else self.shape[self._resolve_axis(dim)]

    @property
    def max_shape(self) -> tuple[int, ...]:
        """The shape with the upper bounds of symbolic sizes."""
        return tuple(size if isinstance(size, int) else int(bounds(size)[1]) for size in self.shape)

    def max_numel(self) -> int:
        """The upper bound of how many elements there are."""
        count = product(self.max_shape)
        assert isinstance(count, int)
        return count

    def element_size(self) -> int:
        """The size of one element, in bytes.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1.0]).element_size()
            4
        """
        return self.dtype.nbytes

    def nbytes(self) -> Size:
        """The size of all elements, in bytes."""
        return self.numel() * self.element_size()

    def is_floating_point(self) -> bool:
        """Whether the elements are floats of any width.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1.0]).is_floating_point(), Tensor([1]).is_floating_point()
            (True, False)
        """
        return self.dtype.is_float
