"""Walk the linear list of a Program and call one method a kind of node: the frame of a renderer."""

from __future__ import annotations

from abc import ABC, abstractmethod

from tiny_ir import ELEMENTWISE, Op, UOp, VerificationError
from tiny_plugin import Program
from tiny_renderers.listing import closed_ranges, unsupported_node, value_of

_SPELLED_BY_USERS = frozenset(
    (Op.CONST, Op.IOTA, Op.PARAM, Op.VARIABLE, Op.SPECIAL, Op.SCRATCH, Op.REGISTER)
    + (Op.INDEX, Op.AFTER, Op.SINK)
)
"""Nodes without a line of their own: users spell them, or they only say what comes before what."""


class Walk(ABC):
    """The text of one function while it grows.

    Args:
        program: what is rendered.

    Attributes:
        language: what error messages call the language.
        lines: the text so far.
        values: what each node that has a value is called.
    """

    language: str

    def __init__(self, program: Program) -> None:
        self.program = program
        self.lines: list[str] = []
        self.values: dict[UOp, str] = {}
        self._open: list[UOp] = []
        self._inside: list[list[UOp]] = []
        self._named = 0

    @property
    def depth(self) -> int:
        """How many loops are open."""
        return len(self._open)

    def fresh(self, letter: str = "v") -> str:
        """A name that nothing has yet."""
        self._named += 1
        return f"{letter}{self._named - 1}"

    def value(self, node: UOp) -> str:
        """What a node is called.

        Raises:
            VerificationError: it has no value here: it stands later, or in a loop that has ended.
        """
        found = self.values.get(node)
        if found is None:
            raise VerificationError(
                f"program {self.program.name!r} uses {node!r} where it has no value.",
                why="a node stands before its users, and not inside a loop that ends before them.",
                fix="order the list so that each node stands in the loops it depends on only.",
            )
        return found

    def walk(self) -> None:
        """Write every node, in the order of the list."""
        values, inside = self.values, self._inside
        for node in self.program.uops:
            if node in values or node.op in _SPELLED_BY_USERS:
                continue
            self._write(node)
            if inside and node in values:
                inside[-1].append(node)

    def _close(self, loop: UOp) -> None:
        """End a loop; what was computed inside has no value behind it."""
        self.close_loop(loop)
        self._open.pop()
        for node in self._inside.pop():
            del self.values[node]

    def _write(self, node: UOp) -> None:
        if node.op in ELEMENTWISE:
            self.elementwise(node)
            return
        match node.op:
            case Op.RANGE:
                self.open_loop(node)
                self._open.append(node)
                self._inside.append([])
            case Op.END:
                for loop in closed_ranges(node, self._open):
                    self._close(loop)
            case Op.LOAD if value_of(node.src[0]).op is Op.REGISTER:
                self.load_register(node, value_of(node.src[0]))
            case Op.LOAD:
                self.load(node)
            case Op.STORE if value_of(node.src[0]).op is Op.REGISTER:
                self.store_register(node, value_of(node.src[0]))
            case Op.STORE:
                self.store(node)
            case Op.BARRIER:
                pass  # these languages have one worker, which never waits for itself
            case Op.PREFETCH:
                self.prefetch(node)
            case Op.SPLAT | Op.STACK | Op.EXTRACT | Op.SHUFFLE:
                self.arrange(node)
            case Op.REDUCE:
                self.reduce(node)
            case _:
                raise unsupported_node(self.language, node)

    @abstractmethod
    def elementwise(self, node: UOp) -> None:
        """Write an op of one or several lanes."""

    @abstractmethod
    def open_loop(self, node: UOp) -> None:
        """Begin the loop of a RANGE and name its counter."""

    @abstractmethod
    def close_loop(self, node: UOp) -> None:
        """End the innermost loop, that of `node`."""

    @abstractmethod
    def load(self, node: UOp) -> None:
        """Read memory."""

    @abstractmethod
    def store(self, node: UOp) -> None:
        """Write memory."""

    @abstractmethod
    def prefetch(self, node: UOp) -> None:
        """Say that memory will soon be written; it may lie outside of what the storage holds."""

    @abstractmethod
    def load_register(self, node: UOp, register: UOp) -> None:
        """Read an accumulator."""

    @abstractmethod
    def store_register(self, node: UOp, register: UOp) -> None:
        """Write an accumulator."""

    @abstractmethod
    def arrange(self, node: UOp) -> None:
        """Make lanes of elements, lanes of lanes, or an element of lanes."""

    @abstractmethod
    def reduce(self, node: UOp) -> None:
        """Combine the lanes of a wide value, in the order of `reduction_halves`."""
