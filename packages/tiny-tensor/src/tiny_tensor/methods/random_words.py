"""Random words from a key and a counter of one's own: the function behind the random stream."""

from __future__ import annotations

from typing import Self

from tiny_ir import ArgumentError, ArgumentTypeError, DTypeError, Op, UOp, const, dtypes, make
from tiny_plugin import boundary
from tiny_tensor.methods.casts import CastMethods
from tiny_tensor.session import current_session

WORD_BITS = 32


@boundary
class RandomWordMethods(CastMethods):
    """Threefry, and words of it."""

    __slots__ = ()

    def threefry(self, seed: object) -> Self:
        """Scramble each element with a key: Threefry-2x32 with 20 rounds.

        Args:
            seed: the key, uint64; it broadcasts.

        Returns:
            uint64 of the common shape: for one key, a different number for each different counter.

        Raises:
            DTypeError: this tensor or the key is not of uint64.

        Source: J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011.

        Example:
            >>> from tiny_tensor import Tensor
            >>> x = Tensor([0, 1], dtype="uint64")
            >>> x.threefry(7).dtype, x.threefry(7)[0].item() == x.threefry(8)[0].item()
            (dtypes.uint64, False)
        """
        for node in (self.uop, self._operand(seed)):
            if node.dtype is not dtypes.uint64:
                raise DTypeError(
                    f"cannot scramble {node.dtype.name}.",
                    why="counter and key are uint64.",
                    fix="cast it: x.cast('uint64').",
                )
        return self._apply(make(Op.THREEFRY, None, self._broadcasted(seed)))

    @classmethod
    def random_bits(
        cls, key: Self | int, counter: Self | int, num: int, device: str | None = None
    ) -> Self:
        """Words of the stream of a key, from a counter on; the Session's own stream stays put.

        Each count gives two words, the lower one first; counts are of 64 bits, and wrap.

        Args:
            key: a number, a tensor of one uint64, or of two uint32, the lower one first.
            counter: the first count, likewise.
            num: how many words.
            device: where they live; by default where a tensor among the two is.

        Returns:
            (num,) of uint32, equal on every device.

        Raises:
            ArgumentError: `num` is negative, or a number does not fit 64 bits.
            ArgumentTypeError: a key or counter is something else.

        Example:
            >>> from tiny_tensor import Tensor
            >>> words = Tensor.random_bits(42, 0, 6)
            >>> (words[2:] == Tensor.random_bits(42, 1, 4)).all().item()
            True
        """
        if num < 0:
            raise ArgumentError(
                f"there are no {num} words.",
                why="a number of words is 0 or more.",
                fix="choose another one.",
            )
        given = [value for value in (key, counter) if isinstance(value, cls)]
        place = current_session().device_name(device or (given[0].device if given else None))
        first = _word(counter, cls)
        counts = make(Op.IOTA, dtypes.weakint, (), max(1, (num + 1) // 2)).cast(dtypes.uint64)
        pairs = make(Op.THREEFRY, None, (counts + first, _word(key, cls)))
        words = cls._from_uop(pairs, place).bitcast(dtypes.uint32)
        return words._apply(words.uop.shrink([(0, num)]))


def _word(value: object, kind: type[RandomWordMethods]) -> UOp:
    """A key or a counter as one uint64 of shape ()."""
    if isinstance(value, int) and not isinstance(value, bool):
        if not 0 <= value <= dtypes.uint64.maximum:
            raise ArgumentError(
                f"{value} is no key and no counter.",
                why="they have 64 bits.",
                fix="take it modulo 2**64.",
            )
        return const(dtypes.uint64, value)
    if isinstance(value, kind) and value.dtype.is_int:
        if value.dtype is dtypes.uint32 and value.numel() == 2:
            low, high = (
                value.uop.reshape((2,)).shrink([(at, at + 1)]).reshape(()).cast(dtypes.uint64)
                for at in range(2)
            )
            return low | (high << const(dtypes.uint64, WORD_BITS))
        if value.numel() == 1:
            return value.uop.reshape(()).cast(dtypes.uint64)
    raise ArgumentTypeError(
        f"{value!r} is no key and no counter.",
        why="they are a number, one uint64, or two uint32.",
        fix="pass for example 42.",
    )
