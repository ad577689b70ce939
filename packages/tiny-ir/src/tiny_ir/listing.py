"""Writes a graph as text, flat records or a content key.

The text has one line a node, sources before users, each node once; the last line is the root:

    %0 = const.float32 1.0
    %1 = param.float32 ParamArg(slot=0, elements=16, device='cpu')
    %2 = add.float32 %1 %0

The name before the dot is the op, the one after it the dtype; then come the sources and the arg.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeAlias

from tiny_ir.dtypes import DType
from tiny_ir.op import Op
from tiny_ir.toposort import toposort

if TYPE_CHECKING:
    from tiny_ir.uop import UOp

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
