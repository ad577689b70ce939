"""Turn a Program into Python: plain loops, and every op the function its table row means.

The text is for reading and for the reference runtime. It uses names that its compiler provides:

    meaning Op dtypes      from tiny_ir; the header binds the functions it calls
    nan inf                the two floats that Python cannot spell
    tree(function, lanes)  combines the lanes of a wide value, which is a list
    scratch(dtype, n)      fresh memory of one worker

and methods of its buffers: `read(i)`, `write(i, x)`, and for wide accesses `read_lanes(i, n)`,
`write_lanes(i, xs)`, `gather(offsets)` and `scatter(offsets, xs)`, each with `gate=` and the reads
with `otherwise=`, which may be one value or one a lane.
"""

from __future__ import annotations

from tiny_ir import DType, Op, UOp, dtypes
from tiny_plugin import Program, Source, Target, boundary
from tiny_renderers.listing import (
    access_of,
    lanes_of,
    value_of,
)
from tiny_renderers.walk import Walk

_INDENT = "    "
_GRID = "grid"


@boundary
class PythonRenderer:
    """Renders a function `name(data0, ..., value0, ..., grid0, ...)`.

    Args:
        target: what to render for.
    """

    name = "python"
    language = "python"

    def __init__(self, target: Target) -> None:
        self.target = target

    def render(self, program: Program) -> Source:
        """Turn a Program into Python text.

        Args:
            program: its uops are at program level, with no weak dtype.

        Raises:
            UnsupportedError: a node has no meaning at program level.
            VerificationError: the list does not nest, or an access has no address.
        """
        return Source(_Function(program).text(), self.language, program.name, program)


class _Function(Walk):
    """The text of one function, line by line."""

    language = "python"

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.bindings: dict[str, str] = {}
        self.numbers = {variable.name: i for i, variable in enumerate(program.variables)}

    def text(self) -> str:
        """The whole module."""
        program = self.program
        for node in dict.fromkeys(program.uops):
            if node.op is Op.SCRATCH:
                size = f"{_dtype_text(node.dtype)}, {node.arg.elements}"
                self._line(f"scratch{node.arg.number} = scratch({size})")
        self.walk()
        parameters = [f"data{i}" for i in range(len(program.arguments))]
        parameters += [f"value{i}" for i in range(len(program.variables))]
        parameters += [f"{_GRID}{i}" for i in range(len(program.grid))]
        header = "".join(f"{name} = {meaning}\n" for name, meaning in self.bindings.items())
        body = "\n".join(self.lines) or f"{_INDENT}pass"
        return f"{header}\n\ndef {program.name}({', '.join(parameters)}):\n{body}\n"

    def _line(self, text: str) -> None:
        self.lines.append(_INDENT * (1 + self.depth) + text)

    def _bind(self, node: UOp, expression: str) -> None:
        name = self.fresh()
        self._line(f"{name} = {expression}")
        self.values[node] = name

    def _operand(self, node: UOp) -> str:
        node = value_of(node)
        match node.op:
            case Op.CONST:
                return repr(node.arg)
            case Op.IOTA:
                return f"list(range({node.arg}))"
            case Op.VARIABLE:
                return f"value{self.numbers[node.arg.name]}"
            case Op.SPECIAL:
                return str(node.arg)
            case _:
                return self.value(node)

    def _function(self, op: Op, dtype: DType, sources: tuple[UOp, ...]) -> str:
        """The name of the function that an op means, bound in the header."""
        first = sources[0].dtype
        if op is Op.CAST or op is Op.BITCAST:
            name = f"{op.name}_{dtype.name}_from_{first.name}"
            kinds = (dtype, first)
        else:
            shown = first if dtype.is_bool else dtype
            name, kinds = f"{op.name}_{shown.name}", (dtype, first)
        kinds_text = ", ".join(_dtype_text(kind) for kind in kinds)
        self.bindings[name] = f"meaning(Op.{op.name}, {kinds_text})"
        return name

    def open_loop(self, node: UOp) -> None:
        """Write a `for` line."""
        self.values[node] = self.fresh("r")
        self._line(f"for {self.values[node]} in range({self._operand(node.src[0])}):")

    def close_loop(self, node: UOp) -> None:
        """A loop ends with its indentation; an empty one needs a line."""
        if self.lines[-1].endswith(":"):
            self._line("pass")

    def arrange(self, node: UOp) -> None:
        """Write lists and their elements."""
        operands = [self._operand(source) for source in node.src]
        match node.op:
            case Op.SPLAT:
                self._bind(node, f"[{operands[0]}] * {node.arg}")
            case Op.STACK:
                self._bind(node, f"[{', '.join(operands)}]")
            case Op.EXTRACT:
                self._bind(node, f"{operands[0]}[{node.arg}]")
            case _:
                self._bind(node, self._shuffled(node))

    def reduce(self, node: UOp) -> None:
        """Write a call of `tree`."""
        function = self._function(node.arg.op, node.dtype, node.src)
        self._bind(node, f"tree({function}, {self._operand(node.src[0])})")

    def elementwise(self, node: UOp) -> None:
        """Write a call of the function the op means, for every lane."""
        function = self._function(node.op, node.dtype, node.src)
        operands = [self._operand(source) for source in node.src]
        if not lanes_of(node):
            self._bind(node, f"{function}({', '.join(operands)})")
            return
        # A single element stands beside every lane.
        letters = "abc"
        wide = [i for i, source in enumerate(node.src) if lanes_of(source)]
        given = ", ".join(letters[i] if i in wide else operands[i] for i in range(len(operands)))
        names = ", ".join(letters[i] for i in wide)
        lanes = operands[wide[0]]
        if len(wide) > 1:
            lanes = f"zip({', '.join(operands[i] for i in wide)}, strict=True)"
        self._bind(node, f"[{function}({given}) for {names} in {lanes}]")

    def _shuffled(self, node: UOp) -> str:
        first = lanes_of(node.src[0])
        x, y = self._operand(node.src[0]), self._operand(node.src[-1])
        picked = [f"{x}[{i}]" if i < first else f"{y}[{i - first}]" for i in node.arg]
        return f"[{', '.join(picked)}]"

    def _storage(self, node: UOp) -> str:
        return f"data{node.arg.slot}" if node.op is Op.PARAM else f"scratch{node.arg.number}"

    def load(self, node: UOp) -> None:
        """Write a call of one of the reading methods."""
        self._bind(node, self._loaded(node))

    def prefetch(self, node: UOp) -> None:
        """Write nothing: there is no cache to fill."""

    def load_register(self, node: UOp, register: UOp) -> None:
        """Keep the value that the accumulator has here."""
        self._bind(node, f"accumulator{register.arg.number}")

    def _loaded(self, node: UOp) -> str:
        access = access_of(node.src[0])
        storage, offset = self._storage(access.storage), self._operand(access.offset)
        alternative, gate = (self._operand(n) for n in node.src[1:]) if node.src[2:] else ("", "")
        if not access.lanes:
            read = f"{storage}.read({offset})"
            return f"{read} if {gate} else {alternative}" if gate else read
        options = f", gate={gate}, otherwise={alternative}" if gate else ""
        if access.contiguous:
            return f"{storage}.read_lanes({offset}, {access.lanes}{options})"
        return f"{storage}.gather({offset}{options})"

    def store(self, node: UOp) -> None:
        """Write a call of one of the writing methods."""
        value = self._operand(node.src[1])
        gate = self._operand(node.src[2]) if node.src[2:] else ""
        access = access_of(node.src[0])
        storage, offset = self._storage(access.storage), self._operand(access.offset)
        if not access.lanes:
            self._line(f"{f'if {gate}: ' if gate else ''}{storage}.write({offset}, {value})")
            return
        if not lanes_of(node.src[1]):
            value = f"[{value}] * {access.lanes}"
        options = f", gate={gate}" if gate else ""
        method = "write_lanes" if access.contiguous else "scatter"
        self._line(f"{storage}.{method}({offset}, {value}{options})")

    def store_register(self, node: UOp, register: UOp) -> None:
        """Write an assignment."""
        value = self._operand(node.src[1])
        gate = self._operand(node.src[2]) if node.src[2:] else ""
        name, lanes = f"accumulator{register.arg.number}", lanes_of(register)
        if lanes and not lanes_of(node.src[1]):
            value = f"[{value}] * {lanes}"
        if not gate:
            self._line(f"{name} = {value}")
        elif not lanes_of(node.src[2]):
            self._line(f"{name} = {value} if {gate} else {name}")
        else:
            chosen = f"zip({gate}, {value}, {name}, strict=True)"
            self._line(f"{name} = [b if a else c for a, b, c in {chosen}]")


def _dtype_text(dtype: DType) -> str:
    """How Python reaches a dtype: `bool` is taken by Python itself."""
    return "dtypes.bool_" if dtype is dtypes.bool_ else f"dtypes.{dtype.name}"
