"""Which bytes a memory node stands for: those of a slot, after some writes and before others."""

from __future__ import annotations

from collections.abc import Sequence

from tiny_codegen.kernels.kernel import Version, slot_of
from tiny_codegen.kernels.layouts import Layouts
from tiny_ir import MOVEMENT, Op, ParamArg, UOp, make

MEMORY = (Op.PARAM, Op.AFTER)
TRANSPARENT = (Op.CONTIGUOUS, Op.DETACH, Op.CONTIGUOUS_BACKWARD)
_NONE: frozenset[UOp] = frozenset()


class MemoryVersions:
    """The versions of a graph's memory.

    A version that some writes come before is read through a stand-in, a PARAM with a number of its
    own, so that expressions over different versions differ. `order.py` puts the slot back.

    Attributes:
        stand_ins: what each stand-in stands for.
    """

    def __init__(self, nodes: Sequence[UOp]) -> None:
        self.stand_ins: dict[UOp, Version] = {}
        self._known: dict[Version, UOp] = {}
        self._params: dict[UOp, UOp] = {}
        self._stores: dict[UOp, frozenset[UOp]] = {}
        for node in nodes:
            if node.op is Op.PARAM:
                self._params[node] = node
            elif node.op in MOVEMENT or node.op is Op.AFTER:
                self._add_memory(node)
            elif node.op is Op.STORE:
                self._stores[node] = self.stores_below(node.src[0]) | {node}

    def param_of(self, node: UOp) -> UOp:
        """The PARAM below a memory node or a view of one."""
        return self._params[node]

    def stores_below(self, node: UOp) -> frozenset[UOp]:
        """The writes that a memory node comes after."""
        return self._stores.get(node, _NONE)

    def readable(self, node: UOp) -> UOp:
        """The PARAM to read a memory node through."""
        stores = self.stores_below(node)
        return self._stand_in(node, stores) if stores else self.param_of(node)

    def readable_after(self, node: UOp, store: UOp) -> UOp:
        """The PARAM to read a memory node through once `store` has written to it."""
        return self._stand_in(node, self.stores_below(node) | {store})

    def _add_memory(self, node: UOp) -> None:
        param = self._params.get(node.src[0])
        if param is None:
            return
        self._params[node] = param
        stores = self.stores_below(node.src[0])
        for source in node.src[1:] if node.op is Op.AFTER else ():
            stores |= self.stores_below(source)
        if stores:
            self._stores[node] = stores

    def _stand_in(self, node: UOp, stores: frozenset[UOp]) -> UOp:
        param = self.param_of(node)
        version = Version(slot_of(param), stores)
        known = self._known.get(version)
        if known is None:
            arg = ParamArg(-1 - len(self._known), param.arg.elements, param.arg.device)
            known = self._known[version] = make(Op.PARAM, param.dtype, (), arg)
            self.stand_ins[known] = version
        return known


def whole_stores(
    stores: Sequence[UOp], versions: MemoryVersions, layouts: Layouts
) -> dict[UOp, UOp]:
    """Values that one STORE writes, as they are, over the whole of a slot."""
    count: dict[UOp, int] = {}
    for store in stores:
        param = versions.param_of(store.src[0])
        count[param] = count.get(param, 0) + 1
    whole: dict[UOp, UOp] = {}
    for store in stores:
        view, value = store.src
        while view.op is Op.RESHAPE:
            view = view.src[0]
        if layouts.made_by(value).op in _MADE_IN_STEPS:
            continue  # these have memory of their own, which the STORE copies
        if view.op is Op.PARAM and count[view] == 1 and value.shape == store.src[0].shape:
            whole.setdefault(value, store)
    return whole


def direct_stores(nodes: Sequence[UOp], stores: Sequence[UOp], layouts: Layouts) -> dict[UOp, UOp]:
    """Values that have memory of their own, and can have that of their STORE instead.

    Their kernels write in several steps. So nothing may read the slot as it was before, and the
    value must be all that it holds afterwards.
    """
    users: dict[UOp, list[UOp]] = {}
    for node in nodes:
        for source in node.src:
            users.setdefault(source, []).append(node)
    direct: dict[UOp, UOp] = {}
    for store in stores:
        view, value = store.src
        made = layouts.made_by(value)
        if made.op not in _MADE_IN_STEPS or value.shape != view.shape or 0 in view.shape:
            continue
        while view.op is Op.RESHAPE:
            view = view.src[0]
        if view.op is Op.PARAM and _is_only_written(view, store, users):
            direct.setdefault(made, store)
    return direct


_MADE_IN_STEPS = (Op.COPY, Op.SCATTER, Op.GET)


def _is_only_written(memory: UOp, store: UOp, users: dict[UOp, list[UOp]]) -> bool:
    """Whether memory is used by `store`, and by what comes after it, alone."""
    stack = [memory]
    while stack:
        node = stack.pop()
        for user in users[node]:
            if user.op is Op.RESHAPE:
                stack.append(user)
            elif user is not store and not (user.op is Op.AFTER and store in user.src[1:]):
                return False
    return True
