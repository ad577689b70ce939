"""The plain-data arguments of nodes: named tuples, so that fields have names and text prints."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from tiny_ir.dtypes import DType
from tiny_ir.op import Op


class AxisKind(Enum):
    """How a RANGE is walked. Chosen by the loop actions; `LOOP` and `REDUCE` until then."""

    __hash__ = object.__hash__

    LOOP = "loop"
    """Independent iterations, run one after the other by one worker."""
    REDUCE = "reduce"
    """Iterations that a REDUCE combines."""
    SERIAL = "serial"
    """Iterations that carry state and must run in order; no action may split work across it."""
    THREAD = "thread"
    """Independent iterations spread over workers: the grid of the Program."""
    LANE = "lane"
    """Independent iterations that become one wide value."""
    REDUCE_LANE = "reduce_lane"
    """Lanes of a reduction: a wide accumulator, combined after the loop."""
    SCAN_LANE = "scan_lane"
    """Lanes of steps in order: what they carry is combined into the state before each of them."""
    UNROLL = "unroll"
    """Independent or reduced iterations that become copies."""

    def __repr__(self) -> str:
        return f"AxisKind.{self.name}"


class BufferArg(NamedTuple):
    """Identity of storage: a number that is unique in its Session, and what it can hold."""

    identity: int
    elements: int
    device: str


class ParamArg(NamedTuple):
    """Position of a kernel or graph argument; where sizes are symbolic, `elements` is a bound."""

    slot: int
    elements: int
    device: str


class VariableArg(NamedTuple):
    """A named integer known at launch, with inclusive bounds."""

    name: str
    minimum: int
    maximum: int


class RangeArg(NamedTuple):
    """Number of a loop axis and how it is walked."""

    number: int
    kind: AxisKind


class ScratchArg(NamedTuple):
    """Fast memory of one worker (`scratch`) or one workgroup (`shared`)."""

    number: int
    elements: int
    space: str


class StoreArg(NamedTuple):
    """How a value is written; it changes no result.

    Attributes:
        is_streamed: past the caches, since it would push out what is needed sooner.
    """

    is_streamed: bool


class RegisterArg(NamedTuple):
    """A mutable value inside a kernel: an accumulator. `lanes` is its shape."""

    number: int
    lanes: tuple[int, ...]


class ReduceArg(NamedTuple):
    """Which op combines, and over which axes of the source (none: over the RANGE sources)."""

    op: Op
    axes: tuple[int, ...]


class WindowArg(NamedTuple):
    """Sliding windows over one axis; the window becomes a new last axis."""

    axis: int
    size: int
    stride: int
    dilation: int


class FoldArg(NamedTuple):
    """The adjoint of WINDOW: the last axis is summed back into `axis`, then `length` long."""

    axis: int
    length: int
    stride: int
    dilation: int


class LoopArg(NamedTuple):
    """A recurrence: its number (shared with its STATE nodes) and how its sources are divided.

    Sources of LOOP and SCAN: the step RANGE, `states` initial values, `states` next values,
    then `outputs` values stored at each step (SCAN), then a bool "go on" when `conditional`.
    """

    number: int
    states: int
    outputs: int
    conditional: bool


class StateArg(NamedTuple):
    """Inside the body of recurrence `number`: the current value of its state `position`."""

    number: int
    position: int
    shape: tuple[int, ...]


class ResultArg(NamedTuple):
    """An argument that a called kernel writes: its slot, and what it is afterwards."""

    slot: int
    dtype: DType
    shape: tuple[int, ...]


class SourceArg(NamedTuple):
    """What the text of a kernel is written in, the function in it, and how that is launched."""

    language: str
    entry: str
    grid: tuple[int, ...]
    workgroup: tuple[int, ...]
    shared_nbytes: int
    scratch_nbytes: int


class CallArg(NamedTuple):
    """A kernel that a user wrote, by its content.

    `kernel` is the text of its SINK, whose PARAMs are numbered by slot; or the text that `source`
    describes, which takes memory in the order of slots. Source i of the CALL is what the memory of
    slot `inputs[i]` holds before; memory of other slots holds anything. GET n is what `results[n]`
    says of the memory afterwards.
    """

    kernel: str
    inputs: tuple[int, ...]
    results: tuple[ResultArg, ...]
    device: str
    source: SourceArg | None = None


class KernelArg(NamedTuple):
    """What a kernel is called in listings."""

    name: str
