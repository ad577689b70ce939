"""Finds states that one associative operation combines with a value of each step.

The states after some steps in a row are then the state before them, combined with the prefixes of
their values: work for many lanes. Float sums may be taken in any order; every other operation must
give the same bits in each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from tiny_codegen.buffers import memory_of
from tiny_codegen.scopes import scopes_of
from tiny_ir import DType, Op, UOp, const, dtypes, make, simplify, substitute, toposort

_COMPARISONS = (Op.CMPLT, Op.CMPLE, Op.CMPEQ, Op.CMPNE)
_LOGIC = (Op.AND, Op.OR, Op.XOR)


@dataclass(frozen=True, slots=True)
class Prefix:
    """States that are combined together with values of each step, associatively.

    Attributes:
        stores: for each state the STORE of its next value.
        loads: for each state the LOAD of its value before a step.
        values: for each state what a step combines it with.
        op: what combines, where it is one op of one state.
        takes_later: the bool under which the values of later steps replace those of earlier ones,
            in terms of `loads` and `values`, where it is a choice.
    """

    stores: tuple[UOp, ...]
    loads: tuple[UOp, ...]
    values: tuple[UOp, ...]
    op: Op | None
    takes_later: UOp | None

    def combined(self, earlier: Sequence[UOp], later: Sequence[UOp]) -> list[UOp]:
        """The values of steps in a row from those of the earlier and of the later ones."""
        if self.op is not None:
            return [make(self.op, None, (earlier[0], later[0]))]
        assert self.takes_later is not None
        known = dict(zip((*self.loads, *self.values), (*earlier, *later), strict=True))
        is_later = substitute(self.takes_later, known)
        return [is_later.where(y, x) for x, y in zip(earlier, later, strict=True)]


def prefixes_along(root: UOp, step: UOp) -> list[Prefix] | None:
    """The states that a kernel carries along an axis; None where some cannot be combined so.

    A value may depend on other states, if those do not depend on its own.
    """
    nodes = toposort((root,))
    scopes = scopes_of(nodes)
    loads: dict[UOp, UOp] = {}
    stores: dict[UOp, UOp] = {}
    for node in nodes:
        is_carried = node.op in (Op.LOAD, Op.STORE) and memory_of(node.src[0]).op is Op.REGISTER
        if not is_carried or step not in scopes[node]:
            continue
        known = loads if node.op is Op.LOAD else stores
        if known.setdefault(memory_of(node.src[0]), node) is not node or len(node.src) > 2:
            return None
    if not stores or stores.keys() != loads.keys():
        return None
    found: list[Prefix] = []
    choices: dict[UOp, list[UOp]] = {}
    for register, store in stores.items():
        following = store.src[1]
        if following.op is Op.WHERE:
            choices.setdefault(following.src[0], []).append(register)
            continue
        value = _other_source(following, loads[register])
        if value is None or not _is_associative(following.op, following.dtype):
            return None
        found.append(Prefix((store,), (loads[register],), (value,), following.op, None))
    for condition, registers in choices.items():
        kept = [loads[register] for register in registers]
        choice = _choice(condition, [stores[register] for register in registers], kept)
        if choice is None:
            return None
        found.append(choice)
    return found if _is_in_order(found) else None


def _other_source(node: UOp, state: UOp) -> UOp | None:
    if len(node.src) != 2 or state not in node.src:
        return None
    first, second = node.src
    return second if first is state else first


def _is_associative(op: Op, dtype: DType) -> bool:
    if op in (Op.MAX, Op.MIN, *_LOGIC, Op.ADD):
        return True
    # A product of floats may leave their range on one way and stay in it on another.
    return op is Op.MUL and dtype.is_int


def _choice(condition: UOp, stores: Sequence[UOp], loads: Sequence[UOp]) -> Prefix | None:
    """The states that one bool keeps or replaces, if that is associative."""
    values: list[UOp] = []
    sides: set[bool] = set()
    for store, load in zip(stores, loads, strict=True):
        _, chosen, other = store.src[1].src
        if load not in (chosen, other):
            return None
        sides.add(other is load)
        values.append(chosen if other is load else other)
    if len(sides) != 1:
        return None
    takes_later = condition if sides == {True} else condition ^ True
    for load, value in zip(loads, values, strict=True):
        if _compares(condition, load, value):
            if not _chooses_associatively(takes_later, load, value):
                return None
            return Prefix(tuple(stores), tuple(loads), tuple(values), None, takes_later)
    return None


def _compares(condition: UOp, state: UOp, value: UOp) -> bool:
    """Whether a bool says how a state and a value compare, and nothing else."""
    stack = [condition]
    while stack:
        node = stack.pop()
        if node.op in _COMPARISONS:
            if not {state, value}.issuperset(node.src):
                return False
        elif node.dtype is dtypes.bool_ and (node.op in _LOGIC or node.op is Op.CONST):
            stack += node.src
        else:
            return False
    return True


def _chooses_associatively(takes_later: UOp, state: UOp, value: UOp) -> bool:
    """Whether the choice among three in a row is the same whichever pair is compared first.

    What comparisons say depends only on the order of their sides: three numbers and NaN stand for
    all values that there are.
    """
    dtype = state.dtype
    three = (False, True) if dtype.is_bool else (0, 1, 2)
    samples: tuple[float, ...] = (*three, math.nan) if dtype.is_float else three
    later: dict[tuple[int, int], bool] = {}
    for (a, x), (b, y) in product(enumerate(samples), repeat=2):
        known = simplify(substitute(takes_later, {state: const(dtype, x), value: const(dtype, y)}))
        if known.op is not Op.CONST:
            return False
        later[a, b] = bool(known.arg)
    for a, b, c in product(range(len(samples)), repeat=3):
        # Which of the three is taken: by its place, for what comes with it differs.
        first = 1 if later[a, b] else 0
        from_left = 2 if later[(a, b)[first], c] else first
        last = 2 if later[b, c] else 1
        from_right = last if later[a, (a, b, c)[last]] else 0
        if from_left != from_right:
            return False
    return True


def _is_in_order(found: Sequence[Prefix]) -> bool:
    """Whether no state depends on itself but by its own combination."""
    owners = {load: prefix for prefix in found for load in prefix.loads}
    needs = {
        id(prefix): [owners[node] for node in toposort(prefix.values) if node in owners]
        for prefix in found
    }
    done: set[int] = set()
    waiting = list(found)
    while waiting:
        ready = [prefix for prefix in waiting if all(id(n) in done for n in needs[id(prefix)])]
        if not ready:
            return False
        done.update(map(id, ready))
        waiting = [prefix for prefix in waiting if id(prefix) not in done]
    return True
