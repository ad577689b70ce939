"""Hashes of bytes: Keccak, and a tree of it over much data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Self

from tiny_ir import ArgumentError, DTypeError, Op, ShapeError, UOp, const, dtypes, make
from tiny_plugin import boundary
from tiny_tensor.arrays import packed
from tiny_tensor.broadcast import broadcast
from tiny_tensor.methods.casts import CastMethods
from tiny_tensor.methods.movement import MovementMethods
from tiny_tensor.methods.scan import at_step, scan, unused_number
from tiny_tensor.realize import upload
from tiny_tensor.session import current_session
from tiny_tensor.sizes import concrete_shape

FUNCTIONS: Mapping[str, tuple[int, int]] = MappingProxyType(
    {"sha3_224": (144, 0x06), "sha3_256": (136, 0x06), "shake_128": (168, 0x1F)}
)
"""Bytes of a block, and the byte that ends the message. Source: NIST FIPS 202, 2015."""
ROUNDS = 24
LANES = 25
"""Words of the state: 5 x 5, word x + 5y in row y."""
STATE_NBYTES = 200
LAST_BIT = 0x80
"""Of the last byte of the last block."""
CHUNK_NBYTES = 1 << 20
BLOCK_NBYTES = 1 << 12
HASH_NBYTES = 16


@boundary
class HashingMethods(MovementMethods, CastMethods):
    """Hashes, computed where the data is."""

    __slots__ = ()

    def keccak(self, function: str | tuple[int, int] = "sha3_256") -> Self:
        """The Keccak hash of the bytes along the last axis, each row by itself.

        Args:
            function: "sha3_224", "sha3_256", "shake_128", or the bytes of a block (a multiple of 8
                below 200) and the byte that ends the message.

        Returns:
            (..., 28), (..., 32) or (..., 16) of uint8; for other blocks half of what they leave of
            200 bytes, and at most a block.

        Raises:
            DTypeError: this tensor is not of uint8.
            ShapeError: it has no axis, or a symbolic size.
            ArgumentError: there is no such function.

        Source: NIST FIPS 202, "SHA-3 standard: permutation-based hash and extendable-output
        functions", 2015.

        Example:
            >>> from tiny_tensor import Tensor
            >>> bytes(Tensor(b"Hello World!").keccak().tolist()).hex()[:16]
            'd0e47486bbf4c16a'
        """
        rate, ending = _parameters(function)
        if self.dtype is not dtypes.uint8:
            raise DTypeError(
                f"cannot hash a tensor of {self.dtype.name}.",
                why="a hash is of bytes.",
                fix="see its bytes first: bitcast('uint8').",
            )
        if not self.shape or not all(isinstance(size, int) for size in self.shape):
            raise ShapeError(
                f"cannot hash the rows of a tensor of shape {self.shape}.",
                why="the bytes lie along the last axis, in a number that is known.",
                fix="reshape it, or pad it to its largest size.",
            )
        shape = concrete_shape(self.shape)
        words = self._words_of_blocks(rate, ending)
        constants = packed(_round_constants(), dtypes.uint64)
        session = current_session()
        table = upload(constants, dtypes.uint64, self._device, session)
        state = _absorbed(words, table)
        digest = min((STATE_NBYTES - rate) // 2, rate)
        rows = [word.reshape((*word.shape, 1)) for word in state[: -(-digest // 8)]]
        joined = self._apply(_joined(rows)).bitcast(dtypes.uint8).uop
        cut = joined.shrink([(0, words.shape[2]), (0, digest)])
        return self._apply(cut.reshape((*shape[:-1], digest)))

    def _words_of_blocks(self, rate: int, ending: int) -> UOp:
        """The filled up messages as (blocks, words, rows) of uint64."""
        *outer, nbytes = concrete_shape(self.shape)
        rows = 1
        for size in outer:
            rows *= size
        blocks = nbytes // rate + 1
        total = blocks * rate
        position = make(Op.IOTA, dtypes.weakint, (), total)
        byte = dtypes.uint8
        mark = position.eq(nbytes).where(const(byte, ending), const(byte, 0))
        mark = mark ^ position.eq(total - 1).where(const(byte, LAST_BIT), const(byte, 0))
        filled = self.uop.reshape((rows, nbytes)).pad([(0, 0), (0, total - nbytes)])
        message = filled ^ broadcast(mark, (rows, total))
        words = self._apply(message).bitcast(dtypes.uint64).uop
        ordered = words.reshape((rows, blocks, rate // 8)).permute((1, 2, 0))
        return make(Op.CONTIGUOUS, None, (ordered,))

    def hash(self) -> Self:
        """A hash of all elements, of 16 bytes.

        It is a tree of "shake_128": the bytes are filled up with zeros to chunks of 1 MiB; each
        chunk is 256 blocks of 4 KiB, whose hashes, joined, are hashed to that of the chunk; the
        hashes of chunks are hashed in the same way until one is left. So chunks are hashed side by
        side. Zeros at the end do not change it: compare lengths as well where that matters.

        Returns:
            (16,) of uint8.

        Raises:
            ShapeError: a size is symbolic.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1, 2, 3]).hash().shape
            (16,)
        """
        data = self.flatten()
        if self.dtype is not dtypes.uint8:
            data = data.bitcast(dtypes.uint8)
        while True:
            data = data._chunk_hashes()
            if data.shape[0] == 1:
                return data.flatten()
            data = data.flatten()

    def _chunk_hashes(self) -> Self:
        """(n,) bytes become (chunks, 16)."""
        (nbytes,) = concrete_shape(self.shape)
        chunks = max(1, -(-nbytes // CHUNK_NBYTES))
        filled = self.uop.pad([(0, chunks * CHUNK_NBYTES - nbytes)])
        blocks = self._apply(filled.reshape((chunks, CHUNK_NBYTES // BLOCK_NBYTES, BLOCK_NBYTES)))
        hashes = blocks.keccak("shake_128").uop.reshape((chunks, BLOCK_NBYTES))
        return self._apply(hashes).keccak("shake_128")


def _parameters(function: str | tuple[int, int]) -> tuple[int, int]:
    if isinstance(function, str):
        found = FUNCTIONS.get(function)
        if found is None:
            raise ArgumentError(
                f"there is no hash {function!r}.",
                why=f"it is one of {', '.join(map(repr, FUNCTIONS))}.",
                fix="choose one of them, or pass the bytes of a block and the ending byte.",
            )
        return found
    rate, ending = function
    if not 0 < rate < STATE_NBYTES or rate % 8 or not 0 < ending < LAST_BIT:
        raise ArgumentError(
            f"there is no Keccak with blocks of {rate} bytes and the ending {ending}.",
            why="a block is a multiple of 8 bytes below 200, and the ending a byte below 128.",
            fix="for example (136, 6), which is sha3_256.",
        )
    return rate, ending


def _absorbed(words: UOp, table: UOp) -> tuple[UOp, ...]:
    """The state after all blocks: a recurrence over the rounds of one block after another."""
    blocks, width, rows = concrete_shape(words.shape)
    start = broadcast(const(dtypes.uint64, 0), (rows,))

    def round_of(step: UOp, state: tuple[UOp, ...]) -> tuple[Sequence[UOp], Sequence[UOp]]:
        block = at_step(words, step // ROUNDS)
        begins = (step % ROUNDS).eq(0)
        given = [
            state[at] ^ begins.where(at_step(block, _number(at)), const(dtypes.uint64, 0))
            if at < width
            else state[at]
            for at in range(LANES)
        ]
        return _permuted(given, at_step(table, step % ROUNDS)), ()

    state, _ = scan(blocks * ROUNDS, [start] * LANES, round_of, unused_number((words,)))
    return state


def _number(value: int) -> UOp:
    return const(dtypes.weakint, value)


def _permuted(state: Sequence[UOp], constant: UOp) -> list[UOp]:
    """One round: theta, rho and pi, chi, iota."""
    columns = [
        state[x] ^ state[x + 5] ^ state[x + 10] ^ state[x + 15] ^ state[x + 20] for x in range(5)
    ]
    parity = [columns[x - 1] ^ _turned(columns[(x + 1) % 5], 1) for x in range(5)]
    moved = list(state)
    for at, (target, turns) in enumerate(_moves()):
        moved[target] = _turned(state[at] ^ parity[at % 5], turns)
    mixed = [
        moved[at] ^ (~moved[at - at % 5 + (at + 1) % 5] & moved[at - at % 5 + (at + 2) % 5])
        for at in range(LANES)
    ]
    mixed[0] = mixed[0] ^ constant
    return mixed


def _turned(word: UOp, turns: int) -> UOp:
    """The bits of a word moved around it."""
    if turns == 0:
        return word
    wide = dtypes.uint64
    return (word << const(wide, turns)) | (word >> const(wide, 64 - turns))


def _moves() -> list[tuple[int, int]]:
    """For each word its place after a round, and by how many bits it is turned (rho and pi)."""
    turns = [0] * LANES
    x, y = 1, 0
    for number in range(ROUNDS):
        turns[x + 5 * y] = (number + 1) * (number + 2) // 2 % 64
        x, y = y, (2 * x + 3 * y) % 5
    places = [(y, (2 * x + 3 * y) % 5) for y in range(5) for x in range(5)]
    return [(x + 5 * y, turns[at]) for at, (x, y) in enumerate(places)]


def _round_constants() -> list[int]:
    """Of a shift register of 8 bits, the output at each bit 2**j - 1 of each round."""
    constants = []
    register = 1
    for _ in range(ROUNDS):
        constant = 0
        for j in range(7):
            constant |= (register & 1) << ((1 << j) - 1)
            register = (register << 1) ^ ((register >> 7) * 0x171)
        constants.append(constant)
    return constants


def _joined(parts: Sequence[UOp]) -> UOp:
    """Nodes side by side along their last axis."""
    width = len(parts)
    total = None
    for at, part in enumerate(parts):
        pads = [(0, 0)] * (len(part.shape) - 1) + [(at, width - 1 - at)]
        placed = part.pad(pads)
        total = placed if total is None else total | placed
    assert total is not None, "a digest has at least one word"
    return total
