"""Turn a Program into C11, for gcc and clang: a wide value is an array, its ops short loops."""

from __future__ import annotations

from collections.abc import Sequence

from tiny_ir import DType, Op, UOp, dtypes
from tiny_plugin import Program, Source, Target, boundary
from tiny_renderers.c_words import (
    TYPES,
    Words,
    conversion_definition,
    extreme_definition,
    memory_dtype_of,
    type_of,
)
from tiny_renderers.listing import (
    Access,
    access_of,
    lanes_of,
    reduction_halves,
    scratch_offsets,
    unsupported_node,
    value_of,
)
from tiny_renderers.walk import Walk

_INDENT = "    "
_LANE = "i"


@boundary
class CRenderer:
    """Renders for CPUs: `void name(const int64 *arguments, int64 chunk, int64 worker)`.

    The arguments are 64-bit words: addresses of the buffers, the variables, then the address of
    all workers' scratch where the Program has any.

    Args:
        target: what to render for.
    """

    name = "c"
    language = "c"

    def __init__(self, target: Target) -> None:
        self.target = target

    def render(self, program: Program) -> Source:
        """Turn a Program into C.

        Args:
            program: its uops are at program level, with no weak dtype.

        Raises:
            UnsupportedError: a node has no expression; its Target claims too much.
            VerificationError: the list does not nest, or an access has no address.
        """
        return Source(_Function(program, self.target).text(), self.language, program.name, program)


class _Function(Walk):
    """The text of one function, line by line."""

    language = "C"

    def __init__(self, program: Program, target: Target) -> None:
        super().__init__(program)
        self.words = Words(target)
        self.types: dict[DType, None] = dict.fromkeys(
            (dtypes.uint8, dtypes.uint32, dtypes.int64, dtypes.uint64)
        )
        self.definitions: dict[str, None] = {}

    def text(self) -> str:
        """The whole translation unit."""
        self._enter()
        self.walk()
        types = "".join(
            f"{self.words.definition_of(dtype)}\n" for dtype in TYPES if dtype in self.types
        )
        definitions = "".join(f"\n{definition}" for definition in self.definitions)
        body = "\n".join(self.lines)
        return (
            f"{types}{definitions}\n"
            f"void {self.program.name}(const int64 *arguments, int64 chunk, int64 worker) {{\n"
            f"{body}\n}}\n"
        )

    # Lines and operands

    def _line(self, text: str) -> None:
        self.lines.append(_INDENT * (1 + self.depth) + text)

    def _type(self, dtype: DType) -> str:
        self.types[dtype] = None
        return type_of(dtype)

    def _lane(self, node: UOp, lane: str) -> str:
        """One lane of a value; a single element is the same in every lane."""
        node = value_of(node)
        if node.op is Op.CONST:
            self.types[node.dtype] = None
            return self.words.constant_of(node.dtype, node.arg)
        if node.op is Op.IOTA:
            return f"(({self._type(node.dtype)}){lane})"
        return f"{self.value(node)}[{lane}]" if lanes_of(node) else self.value(node)

    def _single(self, node: UOp) -> str:
        return self._lane(node, "0")

    def _bind(self, node: UOp, expression: str) -> None:
        """Name a value. In the expression of a wide one, `i` is the lane."""
        lanes, kind = lanes_of(node), self._type(node.dtype)
        name = self.fresh()
        if lanes:
            self._line(f"{kind} {name}[{lanes}];")
            self._each_lane(lanes, f"{name}[{_LANE}] = {expression};")
        else:
            self._line(f"const {kind} {name} = {expression};")
        self.values[node] = name

    def _each_lane(self, lanes: int, statement: str) -> None:
        self._line(f"for (int {_LANE} = 0; {_LANE} < {lanes}; {_LANE}++) {statement}")

    # Arguments

    def _enter(self) -> None:
        """Name every argument that is used, and declare the accumulators, before the first loop."""
        program = self.program
        buffers = len(program.arguments)
        positions = {variable.name: buffers + i for i, variable in enumerate(program.variables)}
        for node in dict.fromkeys(program.uops):
            match node.op:
                case Op.PARAM:
                    kind = self._type(memory_dtype_of(node.dtype))
                    name = f"data{node.arg.slot}"
                    self._line(f"{kind} *{name} = ({kind} *)arguments[{node.arg.slot}];")
                    self.values[node] = name
                case Op.VARIABLE:
                    self._bind(node, f"arguments[{positions[node.arg.name]}]")
                case Op.SPECIAL if node.arg == "grid0":
                    self._bind(node, "chunk")
                case Op.SPECIAL:
                    raise unsupported_node(self.language, node)
                case Op.REGISTER:
                    lanes = lanes_of(node)
                    name = self.values[node] = f"accumulator{node.arg.number}"
                    self._line(f"{self._type(node.dtype)} {name}{f'[{lanes}]' if lanes else ''};")
        self._enter_scratch(buffers + len(program.variables))

    def _enter_scratch(self, position: int) -> None:
        for node, offset in scratch_offsets(self.program).items():
            kind = self._type(memory_dtype_of(node.dtype))
            skipped = f"worker * {self.program.scratch_nbytes} + {offset}"
            name = self.values[node] = f"scratch{node.arg.number}"
            self._line(f"{kind} *{name} = ({kind} *)(arguments[{position}] + {skipped});")

    # Values

    def elementwise(self, node: UOp) -> None:
        """Write an expression."""
        if node.op is Op.BITCAST:
            self._bitcast(node)
            return
        operands = [self._lane(source, _LANE) for source in node.src]
        expression = self._expression(node, node.op, node.dtype, node.src[0].dtype, operands)
        self._bind(node, expression)

    def _expression(
        self, node: UOp, op: Op, dtype: DType, source: DType, operands: Sequence[str]
    ) -> str:
        self.types[dtype] = self.types[source] = None
        if op in (Op.MAX, Op.MIN) and source.is_float:
            self.definitions[extreme_definition(op, source)] = None
        if op is Op.CAST and self.words.converts_halves(source, dtype):
            self.definitions[conversion_definition(source, dtype)] = None
        expression = self.words.expression_of(op, dtype, source, operands)
        if expression is None:
            raise unsupported_node(self.language, node)
        return expression

    def _bitcast(self, node: UOp) -> None:
        """Copy the bytes; a bool is 0 or 1, and every other byte is true."""
        source = node.src[0]
        if node.dtype.is_bool or source.dtype.is_bool:
            self._bind(node, self._lane(source, _LANE) + (" != 0" if node.dtype.is_bool else ""))
            return
        lanes, name = lanes_of(node), self.fresh()
        count = f"[{lanes}]" if lanes else ""
        given = self.fresh()
        self._line(f"{self._type(source.dtype)} {given}{count};")
        self._line(f"{self._type(node.dtype)} {name}{count};")
        if lanes:
            self._each_lane(lanes, f"{given}[{_LANE}] = {self._lane(source, _LANE)};")
        else:
            self._line(f"{given} = {self._single(source)};")
        self._line(f"__builtin_memcpy(&{name}, &{given}, sizeof({name}));")
        self.values[node] = name

    def arrange(self, node: UOp) -> None:
        """Write arrays lane by lane, or take one lane."""
        source = node.src[0]
        match node.op:
            case Op.SPLAT:
                self._bind(node, self._single(source))
            case Op.STACK:
                self._array(node, [self._single(one) for one in node.src])
            case Op.EXTRACT:
                self._bind(node, self._lane(source, str(node.arg)))
            case _:
                first = lanes_of(source)
                self._array(
                    node,
                    [
                        self._lane(source if i < first else node.src[1], str(i % first))
                        for i in node.arg
                    ],
                )

    def _array(self, node: UOp, lanes: Sequence[str]) -> None:
        name = self.fresh()
        kind = self._type(node.dtype)
        self._line(f"const {kind} {name}[{len(lanes)}] = {{{', '.join(lanes)}}};")
        self.values[node] = name

    def reduce(self, node: UOp) -> None:
        """Write the tree of halves, in place in a copy."""
        (source,) = node.src
        op, dtype, lanes = node.arg.op, node.dtype, lanes_of(source)
        kind, name = self._type(dtype), self.fresh()
        self._line(f"{kind} {name}[{lanes}];")
        self._each_lane(lanes, f"{name}[{_LANE}] = {self._lane(source, _LANE)};")
        aside: list[str] = []
        width = lanes
        for half, is_odd in reduction_halves(lanes):
            if is_odd:
                aside.append(f"{name}[{width - 1}]")
            operands = (f"{name}[{_LANE}]", f"{name}[{_LANE} + {half}]")
            combined = self._expression(node, op, dtype, dtype, operands)
            self._each_lane(half, f"{name}[{_LANE}] = {combined};")
            width = half
        for rest in reversed(aside):
            combined = self._expression(node, op, dtype, dtype, (f"{name}[0]", rest))
            self._line(f"{name}[0] = {combined};")
        self.values[node] = result = self.fresh()
        self._line(f"const {kind} {result} = {name}[0];")

    # Loops

    def open_loop(self, node: UOp) -> None:
        """Write a `for` line."""
        name = self.values[node] = self.fresh("r")
        bound = self._single(node.src[0])
        self._line(f"for ({self._type(node.dtype)} {name} = 0; {name} < {bound}; {name}++) {{")

    def close_loop(self, node: UOp) -> None:
        """Close its brace."""
        self.lines.append(_INDENT * self.depth + "}")

    # Memory

    def _element(self, access: Access) -> str:
        """The element that lane `i` of an access is."""
        offset = self._lane(access.offset, _LANE)
        if access.contiguous:
            offset += f" + {_LANE}"
        return f"{self.value(access.storage)}[{offset}]"

    def load(self, node: UOp) -> None:
        """Write a load; what a gate shuts out is never read."""
        expression = self._element(access_of(node.src[0]))
        if node.dtype.is_bool:
            expression = f"({expression} != 0)"
        if len(node.src) > 2:
            otherwise, gate = (self._lane(source, _LANE) for source in node.src[1:])
            expression = f"{gate} ? {expression} : {otherwise}"
        self._bind(node, expression)

    def store(self, node: UOp) -> None:
        """Write a store, lane after lane."""
        access = access_of(node.src[0])
        statement = f"{self._element(access)} = {self._lane(node.src[1], _LANE)};"
        if len(node.src) > 2:
            statement = f"if ({self._lane(node.src[2], _LANE)}) {statement}"
        if access.lanes:
            self._each_lane(access.lanes, statement)
        else:
            self._line(statement)

    def prefetch(self, node: UOp) -> None:
        """Write a prefetch for writing."""
        self._line(f"__builtin_prefetch(&{self._element(access_of(node.src[0]))}, 1);")

    def load_register(self, node: UOp, register: UOp) -> None:
        """Keep the value that the accumulator has here."""
        self._bind(node, self._lane(register, _LANE))

    def store_register(self, node: UOp, register: UOp) -> None:
        """Write an assignment."""
        statement = f"{self._lane(register, _LANE)} = {self._lane(node.src[1], _LANE)};"
        if len(node.src) > 2:
            statement = f"if ({self._lane(node.src[2], _LANE)}) {statement}"
        if lanes_of(register):
            self._each_lane(lanes_of(register), statement)
        else:
            self._line(statement)
