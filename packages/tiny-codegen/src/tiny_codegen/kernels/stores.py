"""Follows views and versions of a graph down to the PARAM they belong to."""

from __future__ import annotations

from tiny_ir import (
    MOVEMENT,
    Op,
    UOp,
)

MEMORY = (Op.PARAM, Op.AFTER)
TRANSPARENT = (Op.CONTIGUOUS, Op.DETACH, Op.CONTIGUOUS_BACKWARD)


def whole_stores(stores: list[UOp]) -> dict[UOp, UOp]:
    """Values that one STORE writes, as they are, over the whole of a slot."""
    count: dict[UOp, int] = {}
    for store in stores:
        param = param_of(base_of(store.src[0]))
        count[param] = count.get(param, 0) + 1
    whole: dict[UOp, UOp] = {}
    for store in stores:
        view, value = store.src
        while view.op is Op.RESHAPE:
            view = view.src[0]
        if value.op in (Op.COPY, Op.SCATTER, Op.GET):
            continue  # these have memory of their own, which the STORE copies
        if view.op is Op.PARAM and count[view] == 1 and value.shape == store.src[0].shape:
            whole.setdefault(value, store)
    return whole


def base_of(view: UOp) -> UOp:
    """The memory node under a chain of movement ops."""
    while view.op in MOVEMENT:
        view = view.src[0]
    return view


def param_of(node: UOp) -> UOp:
    while node.op is not Op.PARAM:
        node = node.src[0]
    return node


def stores_below(node: UOp) -> frozenset[UOp]:
    """The writes that a memory node comes after."""
    stores: set[UOp] = set()
    stack = [node]
    while stack:
        at = stack.pop()
        if at.op is Op.AFTER or at.op in MOVEMENT:
            stack += at.src
        elif at.op is Op.STORE and at not in stores:
            stores.add(at)
            stack.append(at.src[0])
    return frozenset(stores)
