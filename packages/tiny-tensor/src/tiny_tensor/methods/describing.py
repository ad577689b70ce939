"""What a tensor is like: sizes in elements and in bytes, and the family of its dtype."""

from __future__ import annotations

from typing import Self, overload

from tiny_ir import Shape, Size, UOp, bounds, product
from tiny_plugin import boundary
from tiny_tensor.axes import resolved_axis
from tiny_tensor.tensor_core import TensorCore


class ElementCount(int):
    """A number of elements; called, the shape, or the size of one axis.

    The array API writes `x.size`, and torch `x.size()` and `x.size(0)`.
    """

    shape: Shape

    @classmethod
    def of(cls, shape: Shape, count: int) -> Self:
        """The number of elements of a shape."""
        made = cls(count)
        made.shape = shape
        return made

    @overload
    def __call__(self, dim: None = None) -> Shape: ...

    @overload
    def __call__(self, dim: int) -> Size: ...

    def __call__(self, dim: int | None = None) -> int | UOp | tuple[int | UOp, ...]:
        """The shape, or the size of an axis."""
        return self.shape if dim is None else self.shape[resolved_axis(dim, len(self.shape))]


@boundary
class DescribingMethods(TensorCore):
    """Facts that need no computing."""

    __slots__ = ()

    @property
    def size(self) -> ElementCount:
        """How many elements there are, at most; called, the shape or the size of one axis.

        Raises:
            AxisError: (when called) there is no such axis.

        Example:
            >>> from tiny_tensor import Tensor
            >>> x = Tensor.zeros(2, 3)
            >>> x.size == 6, x.size(), x.size(-1)
            (True, (2, 3), 3)
        """
        return ElementCount.of(self.shape, self.max_numel())

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

    def nbytes(self) -> int | UOp:
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
