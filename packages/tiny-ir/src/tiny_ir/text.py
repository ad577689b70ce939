"""Turn a graph into text, flat records or a content key, and text and records back into the graph.

The text has one line a node, sources before users, each node once; the last line is the root:

    %0 = const.float32 1.0
    %1 = param.float32 ParamArg(slot=0, elements=16, device='cpu')
    %2 = add.float32 %1 %0

The name before the dot is the op, the one after it the dtype; then come the sources and the arg.
"""

from __future__ import annotations

import ast
import math
import re
from enum import Enum
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from tiny_ir import arguments
from tiny_ir.check import check_node
from tiny_ir.dtypes import DTYPES, DType
from tiny_ir.errors import ParseError, TinyError
from tiny_ir.graph import toposort
from tiny_ir.op import Op
from tiny_ir.uop import UOp, make

if TYPE_CHECKING:
    from collections.abc import Mapping

Record: TypeAlias = "tuple[Op, DType, tuple[int, ...], Any]"


def to_records(root: UOp) -> list[Record]:
    """Flatten a graph: one (op, dtype, positions of the sources, arg) a node, the root last.

    Example:
        >>> from tiny_ir import const, dtypes
        >>> to_records(const(dtypes.int8, 3))
        [(Op.CONST, dtypes.int8, (), 3)]
    """
    order = toposort([root])
    position = {node: number for number, node in enumerate(order)}
    return [
        (node.op, node.dtype, tuple([position[source] for source in node.src]), node.arg)
        for node in order
    ]


def from_records(records: list[Record]) -> UOp:
    """Build the graph that `to_records` flattened, and return its root."""
    nodes: list[UOp] = []
    for op, dtype, positions, arg in records:
        nodes.append(make(op, dtype, tuple([nodes[position] for position in positions]), arg))
    return nodes[-1]


def text_of(root: UOp) -> str:
    """Write a graph as text.

    Example:
        >>> from tiny_ir import const, dtypes
        >>> print(text_of(const(dtypes.float32, 1).alu(Op.SQRT)))
        %0 = const.float32 1.0
        %1 = sqrt.float32 %0
    """
    return "\n".join(_lines(root))


def key(root: UOp) -> str:
    """Give the content key of a graph: equal graphs have equal keys, in every process.

    Returns:
        64 hexadecimal digits.

    Example:
        >>> from tiny_ir import const, dtypes
        >>> key(const(dtypes.int8, 3))[:8]
        '5bc463df'
    """
    return sha256("\n".join(_lines(root)).encode()).hexdigest()


def _lines(root: UOp) -> list[str]:
    names: dict[UOp, str] = {}
    # An op with its dtype and an arg of None repeat often.
    heads: dict[tuple[Op, DType], str] = {}
    lines: list[str] = []
    for number, node in enumerate(toposort([root])):
        kind = (node.op, node.dtype)
        head = heads.get(kind)
        if head is None:
            head = heads[kind] = f" = {node.op.name.lower()}.{node.dtype.name}"
        name = f"%{number}"
        line = " ".join([name + head, *[names[source] for source in node.src]])
        names[node] = name
        lines.append(line if node.arg is None else f"{line} {node.arg!r}")
    return lines


_LINE = re.compile(r"%(\d+) = (\w+)\.(\w+)((?: %\d+)*)(?: ([^%\s].*))?", re.ASCII)


def parse(text: str) -> UOp:
    """Read a graph that `text_of` wrote; `parse(str(u)) is u`.

    Empty lines and lines that begin with # are skipped.

    Args:
        text: one line a node, sources before users.

    Returns:
        The node of the last line.

    Raises:
        ParseError: a line is not a node, names something unknown, or a node cannot be built.

    Example:
        >>> parse("%0 = const.int32 7").arg
        7
    """
    nodes: dict[str, UOp] = {}
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            try:
                name, node = _read_node(stripped, nodes)
            except _NotANodeError as error:
                raise _error(f"cannot read line {number}: {stripped!r}.", str(error)) from error
            nodes[name] = node
    if not nodes:
        raise _error("there is no node in the text.", "a graph has at least its root.")
    return node


class _NotANodeError(Exception):
    """Why a line is not a node."""


def _read_node(line: str, nodes: Mapping[str, UOp]) -> tuple[str, UOp]:
    match = _LINE.fullmatch(line)
    if match is None:
        raise _NotANodeError("it does not have the form '%1 = op.dtype %0 arg'.")
    name, op, dtype, sources, arg = match.groups()
    if name in nodes:
        raise _NotANodeError(f"%{name} is defined twice.")
    try:
        src = tuple([nodes[source] for source in sources[2:].split(" %") if source])
    except KeyError as error:
        raise _NotANodeError(f"%{error.args[0]} is not defined above it.") from None
    try:
        found = Op[op.upper()], DTYPES[dtype]
        value = None if arg is None else _argument(arg)
    except (KeyError, ValueError, SyntaxError, TypeError) as error:
        raise _NotANodeError(f"{error} is not known here.") from error
    if found[0] is Op.CONST and not isinstance(value, bool | int | float):
        raise _NotANodeError("a constant is a number.")
    try:
        node = make(*found, src, value)
        check_node(node)
    except TinyError as error:
        raise _NotANodeError(f"{error.what} {error.why}") from error
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise _NotANodeError(f"the node cannot be built: {error}.") from error
    return name, node


def _error(what: str, why: str) -> ParseError:
    return ParseError(what, why=why, fix="compare it with the text of a graph: str(node).")


_CLASSES: Mapping[str, Any] = MappingProxyType(
    {
        name: found
        for name, found in vars(arguments).items()
        if isinstance(found, type) and issubclass(found, (tuple, Enum)) and found is not Enum
    }
)


def _argument(text: str) -> Any:
    """Read an arg; most of them are numbers, for which `ast` would be slow."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return _value(ast.parse(text, mode="eval").body)


def _value(tree: ast.expr) -> Any:
    """Evaluate the plain data of an arg: numbers, text, tuples, records and enum members."""
    match tree:
        case ast.Constant(value=bool() | int() | float() | str() | None as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.Name(id="inf"):
            return math.inf
        case ast.Name(id="nan"):
            return math.nan
        case ast.Tuple(elts=items):
            return tuple([_value(item) for item in items])
        case ast.Attribute(value=ast.Name(id="dtypes"), attr=name):
            return DTYPES[name]
        case ast.Attribute(value=ast.Name(id=enum), attr=name):
            return _CLASSES[enum][name]
        case ast.Call(func=ast.Name(id=record), args=[], keywords=fields):
            return _CLASSES[record](**{str(field.arg): _value(field.value) for field in fields})
        case _:
            raise ValueError(ast.unparse(tree))


__all__ = ["Record", "from_records", "key", "parse", "text_of", "to_records"]
