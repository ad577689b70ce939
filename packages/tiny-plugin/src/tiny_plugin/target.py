"""What a machine can do, as data: every decision that depends on the machine reads a Target."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from tiny_ir import DType, Op, dtypes
from tiny_plugin.records import record
from tiny_plugin.typed import boundary

Form = Literal["scalar", "wide", "loops"]
"""scalar: one element at a time (lanes become copies); wide: values with a shape are instructions;
loops: the RANGEs stay in, for backends that work on whole arrays at a time."""


@boundary
@record(frozen=True, slots=True)
class FloatFacts:
    """How a target computes in one float dtype.

    Args:
        dtype: which one.
        denormals: results below the smallest normal number are kept.
        specials: NaN and infinities are kept, and comparisons treat them as IEEE 754 says.
        exact_division: division is rounded correctly.
        exact_sqrt: the square root is rounded correctly.
        fma: a multiply-add with one rounding is one instruction.
    """

    dtype: DType
    denormals: bool = True
    specials: bool = True
    exact_division: bool = True
    exact_sqrt: bool = True
    fma: bool = False


@boundary
@record(frozen=True, slots=True)
class Space:
    """A memory space ("global", "scratch", "shared", ...) and its size in bytes, 0 if unknown."""

    name: str
    nbytes: int = 0


@boundary
@record(frozen=True, slots=True)
class MatrixInstruction:
    """Multiply (m, k) by (k, n) and add to (m, n), by `threads` threads together."""

    name: str
    m: int
    n: int
    k: int
    operand: DType
    accumulator: DType
    threads: int = 1


@boundary
@record(frozen=True, slots=True)
class Target:
    """What a machine can do.

    Args:
        name: what kind of machine: "cpu", "python", ... For people and keys; no code compares it.
        arch: which one of the kind, as its compiler calls it: "x86-64-v4", "sm_90", ...
        form: how far programs are lowered: "scalar", "wide" or "loops".
        supported: which op works on which dtype, as one set of pairs. For comparisons and casts the
            dtype is that of the source.
        storage: the dtypes that can be loaded and stored.
        floats: how each float dtype computes.
        vector_nbytes: the widths of its vector registers, widest first; empty without vectors.
        vector_registers: how many vector registers a worker has.
        registers: how many scalar registers a worker has.
        cache_nbytes: sizes of the data caches, nearest first; the last may be shared by all cores.
        line_nbytes: size of a cache line.
        cores: how many workers run at a time.
        spaces: its memory spaces.
        grid_limits: the largest grid, axis by axis; its length is the number of grid axes.
        workgroup_limits: the largest workgroup, axis by axis; empty without workgroups.
        workgroup_threads: the most threads of one workgroup; 1 without workgroups.
        subgroup_threads: how many threads run in lockstep.
        matrix: its matrix instructions.
        atomics: which op can be done atomically on which dtype.
        features: further facts of the compiler's own, such as "+avx512f".

    Example:
        >>> from tiny_ir import Op, dtypes
        >>> target = Target("toy", supported=pairs([Op.ADD], [dtypes.int32]), vector_nbytes=(16,))
        >>> target.supports(Op.ADD, dtypes.int32), target.supports(Op.ADD, dtypes.float32)
        (True, False)
        >>> target.lanes(dtypes.int32)
        4
    """

    name: str
    arch: str = ""
    form: Form = "scalar"
    supported: frozenset[tuple[Op, DType]] = frozenset()
    storage: frozenset[DType] = frozenset()
    floats: tuple[FloatFacts, ...] = ()
    vector_nbytes: tuple[int, ...] = ()
    vector_registers: int = 0
    registers: int = 16
    cache_nbytes: tuple[int, ...] = ()
    line_nbytes: int = 64
    cores: int = 1
    spaces: tuple[Space, ...] = (Space("global"),)
    grid_limits: tuple[int, ...] = ()
    workgroup_limits: tuple[int, ...] = ()
    workgroup_threads: int = 1
    subgroup_threads: int = 1
    matrix: tuple[MatrixInstruction, ...] = ()
    atomics: frozenset[tuple[Op, DType]] = frozenset()
    features: tuple[str, ...] = ()

    def supports(self, op: Op, dtype: DType) -> bool:
        """Whether `op` works on `dtype`."""
        return (op, dtype) in self.supported

    def converts(self, source: DType, dtype: DType) -> bool:
        """Whether one CAST leads from `source` to `dtype`.

        A float that it does not compute in is converted from and to float32 only.
        """
        if not (self.supports(Op.CAST, source) and self.supports(Op.CAST, dtype)):
            return False
        stored = [one for one in (source, dtype) if one.is_float and self.float_facts(one) is None]
        return not stored or dtypes.float32 in (source, dtype)

    def stores(self, dtype: DType) -> bool:
        """Whether `dtype` can be loaded and stored."""
        return dtype in self.storage

    def has_atomic(self, op: Op, dtype: DType) -> bool:
        """Whether `op` can be done atomically on memory of `dtype`."""
        return (op, dtype) in self.atomics

    def float_facts(self, dtype: DType) -> FloatFacts | None:
        """How it computes in `dtype`; None where it does not."""
        for facts in self.floats:
            if facts.dtype is dtype:
                return facts
        return None

    def has_fma(self, dtype: DType) -> bool:
        """Whether a multiply-add with one rounding is one instruction for `dtype`."""
        facts = self.float_facts(dtype)
        return facts is not None and facts.fma

    def lanes(self, dtype: DType) -> int:
        """How many elements of `dtype` the widest vector register holds; 1 without vectors."""
        return max(1, self.vector_nbytes[0] // max(1, dtype.nbytes)) if self.vector_nbytes else 1

    def space(self, name: str) -> Space | None:
        """The memory space called `name`; None where it has none."""
        for space in self.spaces:
            if space.name == name:
                return space
        return None

    @property
    def grid_axes(self) -> int:
        """How many axes a grid may have; 0 where programs are launched once."""
        return len(self.grid_limits)

    def key(self) -> str:
        """A text that is equal for equal targets in every process, for cache keys."""
        return repr(
            tuple(
                _pairs_text(value) if isinstance(value, frozenset) else value
                for value in (getattr(self, name) for name in self.__slots__)
            )
        )


def _pairs_text(items: frozenset[tuple[Op, DType]] | frozenset[DType]) -> str:
    """The members of a set in an order that does not depend on the process."""
    return " ".join(
        sorted(
            f"{item[0].name}:{item[1].name}" if isinstance(item, tuple) else item.name
            for item in items
        )
    )


@boundary
def pairs(ops: Iterable[Op], types: Iterable[DType]) -> frozenset[tuple[Op, DType]]:
    """Every pair of one of `ops` and one of `types`, the form `Target.supported` has.

    Example:
        >>> from tiny_ir import Op, dtypes
        >>> len(pairs([Op.ADD, Op.MUL], [dtypes.int8, dtypes.int16, dtypes.int32]))
        6
    """
    kept = tuple(types)
    return frozenset((op, dtype) for op in ops for dtype in kept)
