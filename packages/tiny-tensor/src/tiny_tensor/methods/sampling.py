"""Values of pictures at places that a grid says, in between their elements."""

from __future__ import annotations

from itertools import product
from typing import Self

from tiny_ir import ShapeError, UOp, dtypes, is_same_size
from tiny_plugin import boundary
from tiny_tensor.broadcast import broadcast
from tiny_tensor.choices import check_choice
from tiny_tensor.methods.resizing import ResizingMethods, far_weight, near_weight
from tiny_tensor.methods.triangles import counting

MODES = ("bilinear", "nearest", "bicubic")
EDGES = ("zeros", "border", "reflection")


@boundary
class SamplingMethods(ResizingMethods):
    """Reads at places that are numbers, not positions."""

    __slots__ = ()

    def grid_sample(
        self,
        grid: Self,
        mode: str = "bilinear",
        padding_mode: str = "zeros",
        align_corners: bool = False,
    ) -> Self:
        """Read a picture at the places of a grid.

        Args:
            grid: (batch, *sizes, n), for self of (batch, channels, *spatial) with n spatial axes:
                the places from -1 to 1, those along the last axis first.
            mode: "nearest" takes the nearest element, "bilinear" mixes the two nearest of each
                axis, and "bicubic" the four nearest.
            padding_mode: what is outside: "zeros", "border" for the nearest element at the edge, or
                "reflection" for what a mirror at the edge shows.
            align_corners: -1 and 1 are the middles of the first and the last element, and not
                their outer edges.

        Returns:
            (batch, channels, *sizes), in the dtype of the picture; weights are computed in at
            least float32.

        Raises:
            ArgumentError: there is no such mode.
            ShapeError: the grid does not fit.

        Example:
            >>> from tiny_tensor import Tensor
            >>> x = Tensor([[[[1.0, 3.0], [5.0, 7.0]]]])
            >>> x.grid_sample(Tensor([[[[0.0, 0.0]]]])).tolist()
            [[[[4.0]]]]

        Source: M. Jaderberg et al., "Spatial transformer networks", 2015.
        """
        check_choice("mode", mode, MODES)
        check_choice("padding_mode", padding_mode, EDGES)
        grid = self._wrap(grid)
        spatial = self.ndim - 2
        fits = spatial > 0 and grid.ndim == self.ndim and grid.shape[-1] == spatial
        if not fits or not is_same_size(grid.shape[0], self.shape[0]):
            raise ShapeError(
                f"a grid of shape {grid.shape} does not fit a picture of shape {self.shape}.",
                why="it is (batch, *sizes, n), and the picture (batch, channels, n spatial axes).",
                fix="give each place one number for each spatial axis.",
            )
        x = self._as_float()
        wide, places = x._wide().permute(0, *range(2, self.ndim), 1), grid._wide()
        taps = []
        for axis in range(spatial):
            number = spatial - 1 - axis  # the last axis comes first
            place = places._part(places.ndim - 1, number, number + 1).squeeze(-1)
            taps.append(_taps(place, self._length(2 + axis), mode, padding_mode, align_corners))
        shape = places.shape[:-1]
        batch = counting(shape[0]).cast(dtypes.int32).reshape((shape[0], *(1,) * spatial))
        rows = broadcast(batch, shape)
        total: Self | None = None
        for corner in product(*taps):
            part = wide._apply(wide.uop.index(rows, *[index for index, _ in corner]))
            for _, weight in corner:
                part = part if weight is None else part * weight.unsqueeze(-1)
            total = part if total is None else total + part
        assert total is not None
        return total.permute(0, self.ndim - 1, *range(1, self.ndim - 1)).cast(x.dtype)


Tap = tuple[UOp, SamplingMethods | None]
"""Positions along an axis, int32, and their weights; None for 1."""


def _taps(
    place: SamplingMethods, size: int, mode: str, edges: str, align_corners: bool
) -> list[Tap]:
    """What places from -1 to 1 read along an axis."""
    x = (place + 1.0) * ((size - 1) / 2) if align_corners else (place + 1.0) * (size / 2) - 0.5
    if mode != "bicubic":
        x = _inside(x, size, edges, align_corners)
    if mode == "nearest":
        return [(_position(x.round()), None)]
    base = x.floor().detach()  # type: ignore[attr-defined]
    part = x - base
    if mode == "bilinear":
        return [(_position(base), 1.0 - part), (_position(base + 1.0), part)]
    distances = (
        (far_weight, part),
        (near_weight, part),
        (near_weight, 1.0 - part),
        (far_weight, 1.0 - part),
    )
    return [
        (
            _position(_inside(base + float(n - 1), size, edges, align_corners)),
            part._apply(weight(distance.uop)),
        )
        for n, (weight, distance) in enumerate(distances)
    ]


def _position(x: SamplingMethods) -> UOp:
    """Whole numbers as positions; what is far outside stays outside."""
    return x.clamp(-(2.0**30), 2.0**30).uop.cast(dtypes.int32)


def _inside(x: SamplingMethods, size: int, edges: str, align_corners: bool) -> SamplingMethods:
    """Places outside of an axis, brought inside as the mode says."""
    if edges == "zeros":
        return x
    if edges == "reflection":
        low, length = (0.0, float(size - 1)) if align_corners else (-0.5, float(size))
        if length == 0.0:
            return x * 0.0
        away = (x - low).abs()
        rest = away.mod(2.0 * length)
        x = (rest > length).where(2.0 * length - rest, rest) + low
    return x.clamp(0.0, float(size - 1))
