"""einsum: a formula and nodes become products and sums."""

from __future__ import annotations

from collections.abc import Sequence

from tiny_ir import ArgumentError, DType, Op, ShapeError, Size, UOp, dtypes, is_same_size
from tiny_tensor.broadcast import broadcast


def contracted(formula: str, nodes: Sequence[UOp], dtype: DType | None) -> UOp:
    """Multiply nodes and add up along the axes that the result does not name.

    Two nodes at a time are multiplied, from left to right; an axis is added up as soon as no
    further node has it.

    Raises:
        ArgumentError: the formula is not well formed.
        ShapeError: axes of one letter have different sizes.
    """
    inputs, output = _labels(formula, nodes)
    result = dtypes.promote(*[node.dtype for node in nodes]) if dtype is None else dtype
    kept = dtypes.sum_dtype(result) if result.is_float and dtype is None else result
    sizes = _sizes(formula, inputs, nodes)
    terms = [_without_twins(list(names), node) for names, node in zip(inputs, nodes, strict=True)]
    names, value = terms[0][0], terms[0][1].cast(kept)
    rest = terms[1:]
    if not rest:
        names, value = _summed(names, value, output)
    while rest:
        other_names, other = rest.pop(0)
        needed = {*output, *(name for more, _ in rest for name in more)}
        joint = [*names, *[name for name in other_names if name not in names]]
        shape = tuple(sizes[name] for name in joint)
        left = broadcast(_arranged(names, value, joint), shape)
        right = broadcast(_arranged(other_names, other.cast(kept), joint), shape)
        times = Op.AND if kept.is_bool else Op.MUL
        names, value = _summed(joint, left.alu(times, right), [n for n in joint if n in needed])
    value = value.permute([names.index(name) for name in output])
    return broadcast(value, tuple(sizes[name] for name in output)).cast(result)


def _wrong(formula: str, why: str) -> ArgumentError:
    return ArgumentError(
        f"einsum cannot read {formula!r}.",
        why=f"{why}.",
        fix='write it like "bij,bjk->bik": one letter an axis, a comma between tensors.',
    )


def _labels(formula: str, nodes: Sequence[UOp]) -> tuple[list[list[str]], list[str]]:
    """The names of the axes of each node, and of the result."""
    text = formula.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(nodes):
        raise _wrong(formula, f"it names {len(parts)} tensors, and there are {len(nodes)}")
    unnamed = 0
    inputs: list[list[str]] = []
    for part, node in zip(parts, nodes, strict=True):
        before, dots, after = part.partition("...")
        count = len(node.shape) - len(before) - len(after)
        if not all(letter.isalpha() for letter in before + after):
            raise _wrong(formula, f"{part!r} has something else than letters")
        if count < 0 or (count and not dots):
            raise _wrong(formula, f"{part!r} does not name {len(node.shape)} axes")
        unnamed = max(unnamed, count)
        # Axes without names are aligned at the last one, as in broadcasting.
        middle = [f"...{n}" for n in range(count, 0, -1)]
        inputs.append([*before, *middle, *after])
    dots_names = [f"...{n}" for n in range(unnamed, 0, -1)]
    if not arrow:
        letters = [name for names in inputs for name in names if name not in dots_names]
        return inputs, [*dots_names, *sorted(n for n in set(letters) if letters.count(n) == 1)]
    before, dots, after = right.partition("...")
    output = [*before, *(dots_names if dots else ()), *after]
    known = {name for names in inputs for name in names}
    unknown = [name for name in output if name not in known]
    if unknown:
        raise _wrong(formula, f"{unknown[0]!r} of the result is an axis of no tensor")
    if len(set(output)) != len(output):
        raise _wrong(formula, "the result names an axis twice")
    return inputs, output


def _sizes(formula: str, inputs: list[list[str]], nodes: Sequence[UOp]) -> dict[str, Size]:
    sizes: dict[str, Size] = {}
    for names, node in zip(inputs, nodes, strict=True):
        for name, size in zip(names, node.shape, strict=True):
            present = sizes.setdefault(name, size)
            if isinstance(present, int) and present == 1:
                sizes[name] = size
            elif not is_same_size(present, size) and not (isinstance(size, int) and size == 1):
                raise ShapeError(
                    f"in {formula!r} the axis {name!r} has size {present} and size {size}.",
                    why="axes of one letter have one size.",
                    fix="name them differently, or reshape one of the tensors.",
                )
    return sizes


def _without_twins(names: list[str], node: UOp) -> tuple[list[str], UOp]:
    """The diagonal along axes that have one name."""
    for name in sorted(set(names)):
        while names.count(name) > 1:
            first = names.index(name)
            second = names.index(name, first + 1)
            size = node.shape[first]
            rest = [axis for axis in range(len(names)) if axis not in (first, second)]
            node = node.permute((*rest, first, second))
            outer = node.shape[:-2]
            flat = node.reshape((*outer, size * size)).window(len(outer), 1, size + 1)  # type: ignore[arg-type]
            node = flat.reshape((*outer, size))
            names = [*[names[axis] for axis in rest], name]
    return names, node


def _arranged(names: list[str], node: UOp, wanted: list[str]) -> UOp:
    """The node with its axes in the order of `wanted`, and size 1 where it has none."""
    node = node.permute([names.index(name) for name in wanted if name in names])
    shape = iter(node.shape)
    return node.reshape([next(shape) if name in names else 1 for name in wanted])


def _summed(names: list[str], node: UOp, kept: Sequence[str]) -> tuple[list[str], UOp]:
    """Add up along the axes that are not kept."""
    axes = [axis for axis, name in enumerate(names) if name not in kept]
    op = Op.OR if node.dtype.is_bool else Op.ADD
    return [name for name in names if name in kept], node.reduce(op, axes)
