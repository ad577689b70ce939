"""Reads the text that `listing.py` writes back into the graph."""

from __future__ import annotations

import ast
import math
import re
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tiny_ir import arguments
from tiny_ir.check import check_node
from tiny_ir.dtypes import DTYPES
from tiny_ir.errors import ParseError, TinyError
from tiny_ir.op import Op
from tiny_ir.uop import UOp, make

if TYPE_CHECKING:
    from collections.abc import Mapping


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
