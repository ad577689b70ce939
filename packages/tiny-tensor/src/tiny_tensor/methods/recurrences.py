"""Running results along an axis: cumsum, cumprod, cummax, cummin, logcumsumexp."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Self

from tiny_ir import Op, UOp, const, dtypes, make
from tiny_plugin import boundary
from tiny_tensor.broadcast import broadcast
from tiny_tensor.methods.reductions import ReductionMethods, positions_along
from tiny_tensor.methods.scan import at_step, scan

Step = Callable[[Sequence[UOp], Sequence[UOp]], Sequence[UOp]]
"""From the states and the values of a step to the next states."""


@boundary
class RecurrenceMethods(ReductionMethods):
    """One result a position, made of the elements up to it. The work is linear."""

    __slots__ = ()

    def cumsum(self, axis: int = 0) -> Self:
        """The sums of the elements up to each position.

        Returns:
            The shape of this tensor; bool and narrow ints widen as in `sum`.

        Raises:
            AxisError: there is no such axis.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1, 2, 3]).cumsum().tolist()
            [1, 3, 6]
        """
        return self._running(Op.ADD, 0, axis)

    def cumprod(self, axis: int = 0) -> Self:
        """The products of the elements up to each position, in the dtypes of `cumsum`.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1, 2, 3]).cumprod().tolist()
            [1, 2, 6]
        """
        return self._running(Op.MUL, 1, axis)

    def _running(self, op: Op, initial: int, axis: int) -> Self:
        kept = dtypes.sum_dtype(self.dtype)
        node = self.uop.cast(kept)
        first = const(kept, initial)

        def step(states: Sequence[UOp], values: Sequence[UOp]) -> Sequence[UOp]:
            return (make(op, None, (states[0], values[0])),)

        (result,) = self._scanned((node,), (first,), step, axis)
        return self._apply(result.cast(self.dtype) if kept.is_float else result)

    def cummax(self, axis: int = 0) -> tuple[Self, Self]:
        """The largest of the elements up to each position; NaN propagates.

        Returns:
            The values, and their positions (int32): the last of equal ones, the first NaN.

        Example:
            >>> from tiny_tensor import Tensor
            >>> [x.tolist() for x in Tensor([1, 3, 2]).cummax()]
            [[1, 3, 3], [0, 1, 1]]
        """
        return self._extremes(Op.CMPLE, axis)

    def cummin(self, axis: int = 0) -> tuple[Self, Self]:
        """The smallest of the elements up to each position; see `cummax`."""
        return self._extremes(Op.CMPLE, axis, is_minimum=True)

    def _extremes(self, op: Op, axis: int, *, is_minimum: bool = False) -> tuple[Self, Self]:
        node = self.uop
        if not node.shape:
            return self, self._apply(const(dtypes.int32, 0))
        positions, _ = positions_along(node, self._resolve_axis(axis))
        worst = node.dtype.maximum if is_minimum else node.dtype.minimum
        initial = (const(node.dtype, worst), const(positions.dtype, 0))

        def step(states: Sequence[UOp], values: Sequence[UOp]) -> Sequence[UOp]:
            (best, place), (value, position) = states, values
            sides = (value, best) if is_minimum else (best, value)
            better = make(op, None, sides)
            if value.dtype.is_float:
                # The first NaN is better than any number, and nothing is better than it.
                better = (better | value.ne(value)) & best.eq(best)
            return better.where(value, best), better.where(position, place)

        values, places = self._scanned((node, positions), initial, step, axis)
        return self._apply(values), self._apply(places)

    def logcumsumexp(self, axis: int = 0) -> Self:
        """The logarithms of the sums of exp up to each position, without overflow.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1000.0, -1000.0]).logcumsumexp().tolist()
            [1000.0, 1000.0]
        """
        x = self._as_float()
        wide = x._wide()
        kept = wide.dtype

        def step(states: Sequence[UOp], values: Sequence[UOp]) -> Sequence[UOp]:
            (largest, total), (value,) = states, values
            top = largest.maximum(value)
            before, now = _finite(largest), _finite(top)
            # Where nothing was added yet, there is nothing to scale.
            old = total.eq(0).where(0.0, total * (before - now).alu(Op.EXP))
            return top, old + (value - now).alu(Op.EXP)

        initial = (const(kept, -math.inf), const(kept, 0.0))
        tops, totals = self._scanned((wide.uop,), initial, step, axis)
        return self._apply((totals.alu(Op.LOG) + _finite(tops)).cast(x.dtype))

    def _scanned(
        self, nodes: Sequence[UOp], initial: Sequence[UOp], step: Step, axis: int
    ) -> tuple[UOp, ...]:
        """Walk an axis in order: all states after each step, in the shape of the nodes.

        Args:
            nodes: values of one shape, read at the current step.
            initial: the states before the first step, of shape ().
            step: from the states and the values of a step to the next states.
            axis: the axis to walk along.
        """
        shape = nodes[0].shape
        if not shape:
            self._resolve_axis(axis, extra=1)
            return tuple(step(initial, nodes))
        along = self._resolve_axis(axis)
        if any(isinstance(size, int) and size == 0 for size in shape):
            return tuple(broadcast(state, shape) for state in initial)
        order = (along, *[n for n in range(len(shape)) if n != along])
        rows = [node.permute(order) for node in nodes]

        def body(counter: UOp, states: tuple[UOp, ...]) -> tuple[Sequence[UOp], Sequence[UOp]]:
            following = step(states, [at_step(row, counter) for row in rows])
            return following, following

        first = [broadcast(state, rows[0].shape[1:]) for state in initial]
        _, results = scan(rows[0].shape[0], first, body)
        back = [order.index(n) for n in range(len(order))]
        return tuple(result.permute(back) for result in results)


def _finite(x: UOp) -> UOp:
    """The number itself, and 0 for an infinity or NaN."""
    size = x.maximum(x.alu(Op.NEG))
    return (size < math.inf).where(x, 0.0)
