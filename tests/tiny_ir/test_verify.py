"""The verifier accepts what is valid, and refuses every change of arity, dtype, shape, ..."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence

import pytest

from tiny_ir import (
    ELEMENTWISE,
    OP_TABLE,
    ArgumentError,
    AxisKind,
    DType,
    KernelArg,
    Op,
    ParamArg,
    RangeArg,
    UOp,
    VerificationError,
    check_node,
    const,
    dtypes,
    has_meaning,
    make,
    settings,
    toposort,
    verify,
    verify_program,
)

COMPARISONS = (Op.CMPLT, Op.CMPLE, Op.CMPEQ, Op.CMPNE)
LEVELS = ("graph", "kernel", "program")


@pytest.fixture(autouse=True)
def _build_without_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong shall reach the verifier, also where the suite runs under SPEC=1."""
    monkeypatch.setattr(settings, "CHECK_NODES", False)


def test_every_sample_is_valid(samples: list) -> None:
    for sample in samples:
        verify(sample.root, sample.level)
        if sample.order:
            verify_program(sample.order)


def test_the_samples_hold_every_op(samples: list) -> None:
    present = {node.op for sample in samples for node in toposort([sample.root])}
    assert present == set(Op)


# Mutations --------------------------------------------------------------------------------------
#
# A mutant is made without the factory, which would refuse many of them. Each way to mutate changes
# something that makes the node, or its user, wrong for certain; it is offered only where it does.


def raw(node: UOp, **changes: object) -> UOp:
    """A node like another, except for changes that nothing has looked at."""
    copy = object.__new__(UOp)
    for name in UOp.__slots__:
        if name != "__weakref__" and hasattr(node, name):
            object.__setattr__(copy, name, getattr(node, name))
    for name, value in changes.items():
        object.__setattr__(copy, name, value)
    return copy


def with_source(node: UOp, position: int, source: UOp) -> UOp:
    return raw(node, src=(*node.src[:position], source, *node.src[position + 1 :]))


def in_place_of(root: UOp, node: UOp, mutant: UOp) -> UOp:
    """The graph with a mutant in the place of a node."""
    done: dict[UOp, UOp] = {}
    for old in toposort([root]):
        src = tuple(done[source] for source in old.src)
        done[old] = mutant if old is node else old if src == old.src else raw(old, src=src)
    return done[root]


Mutation = Callable[[], object]
Mutations = Iterator[tuple[str, Mutation]]
OTHERS = [dtype for dtype in dtypes.DTYPES.values() if dtype is not dtypes.void]
STRANGE = 7919  # elements of no sample


def changed_arity(node: UOp) -> Iterator[UOp]:
    row, count = OP_TABLE[node.op], len(node.src)
    if count and (count - 1 < row.minimum_arity or (node.op is Op.LOAD and count == 3)):
        yield raw(node, src=node.src[:-1])
    if row.maximum_arity is not None and count + 1 > row.maximum_arity:
        yield raw(node, src=(*node.src, const(dtypes.int32, 1)))
        if count:
            yield raw(node, src=(node.src[0], *node.src))


def changed_dtype(node: UOp) -> Iterator[UOp]:
    sources = node.src
    if OP_TABLE[node.op].dtype_of is not None:
        for dtype in OTHERS:
            if dtype is not node.dtype:
                yield raw(node, dtype=dtype)
    compared = node.op in ELEMENTWISE and len(sources) > 1
    for position, source in enumerate(sources if compared or node.op is Op.STORE else ()):
        if node.op is Op.STORE and position == 0:
            continue
        for dtype in OTHERS:
            if dtype is not source.dtype:
                yield with_source(node, position, const(dtype, 1))
    if node.op in ELEMENTWISE and node.op not in (Op.WHERE, Op.CAST, Op.BITCAST):
        for op in ELEMENTWISE - {Op.WHERE, Op.CAST, Op.BITCAST}:
            row = OP_TABLE[op]
            takes = row.minimum_arity == OP_TABLE[node.op].minimum_arity
            if takes and op not in COMPARISONS and not has_meaning(op, sources[0].dtype):
                yield raw(node, op=op, dtype=row.dtype_of(sources) if row.dtype_of else node.dtype)


def changed_shape(node: UOp) -> Iterator[UOp]:
    yield raw(node, shape=(*node.shape, STRANGE))
    for axis in range(len(node.shape)):
        yield raw(node, shape=node.shape[:axis] + node.shape[axis + 1 :])
        yield raw(node, shape=(*node.shape[:axis], STRANGE, *node.shape[axis + 1 :]))
    if node.op in ELEMENTWISE:
        for position, source in enumerate(node.src):
            others = node.src[:position] + node.src[position + 1 :]
            if any(other.shape for other in others):
                strange = make(Op.PARAM, source.dtype, (), ParamArg(9, STRANGE, "cpu"))
                yield with_source(node, position, strange)
    if node.op in (Op.RESHAPE, Op.EXPAND):
        for position in range(1, len(node.src)):
            yield with_source(node, position, const(dtypes.weakint, STRANGE))
    if node.op is Op.STORE:
        strange = make(Op.PARAM, node.src[1].dtype, (), ParamArg(9, STRANGE, "cpu"))
        yield with_source(node, 1, strange)


def nodes_of_other_levels(node: UOp, level: str) -> Iterator[UOp]:
    """Valid nodes over a node that its level does not allow."""
    if node.dtype is dtypes.void:
        return
    if level == "graph":
        if node.shape == ():
            yield make(Op.SPLAT, None, (node,), 4)
            yield make(Op.STACK, None, (node, node))
        return
    yield make(Op.CONTIGUOUS, None, (node,))
    yield make(Op.DETACH, None, (node,))
    yield make(Op.COPY, None, (node,), "python")
    yield make(Op.RESHAPE, None, (node, *[const(dtypes.weakint, 1)] * len(node.shape)))


def changed_level(node: UOp, level: str) -> Iterator[UOp]:
    for position, source in enumerate(node.src):
        if source.shape == () or level == "graph":
            for foreign in nodes_of_other_levels(source, level):
                yield with_source(node, position, foreign)
    if level == "program" and node.dtype is dtypes.int32 and node.op is not Op.INDEX:
        yield raw(node, dtype=dtypes.weakint)
    if level == "program" and node.op is Op.INDEX and node.arg is None:
        yield raw(node, src=(*node.src, const(dtypes.bool_, True)))


def opened_below(root: UOp) -> dict[UOp, set[UOp]]:
    """For each node the RANGEs that are open at it."""
    found: dict[UOp, set[UOp]] = {}
    for node in toposort([root]):
        inside = set().union(*[found[source] for source in node.src])
        closing = node.src[1:] if node.op in (Op.END, Op.REDUCE) else ()
        if node.op in (Op.LOOP, Op.SCAN):
            closing = node.src[:1]
        inside -= {source for source in closing if source.op is Op.RANGE}
        found[node] = inside | ({node} if node.op is Op.RANGE else set())
    return found


def changed_scope(root: UOp, node: UOp) -> Iterator[UOp]:
    """Graphs in which a RANGE, or the state of a recurrence, is used outside its loop."""
    opened = opened_below(root)
    if node.op in (Op.END, Op.REDUCE):
        for source in node.src[1:]:
            if source.op is not Op.RANGE or source not in opened[node.src[0]]:
                continue
            left = tuple(other for other in node.src if other is not source)
            if any(other.op is Op.RANGE for other in left[1:]):
                yield in_place_of(root, node, raw(node, src=left))
            elif node.op is Op.END or not node.arg.axes:
                yield in_place_of(root, node, left[0])
    if root.op is Op.SINK and node.op in (Op.RANGE, Op.STATE):
        outside = node.cast(dtypes.float32).alu(Op.SQRT)
        if root.arg is not None:
            place = make(Op.PARAM, dtypes.float32, (), ParamArg(9, 64, "cpu"))
            outside = place.index(node).store(const(dtypes.float32, 1))
        yield raw(root, src=(*root.src, outside))
    if root.op is Op.SINK and node.op is Op.END:
        # The loop is done, and its RANGE is used once more.
        place = make(Op.PARAM, dtypes.float32, (), ParamArg(9, 64, "cpu")).after(node)
        again = place.index(node.src[-1]).store(const(dtypes.float32, 1)).end(node.src[-1])
        yield raw(root, src=(*root.src, again))


def changed_order(order: Sequence[UOp]) -> Iterator[list[UOp]]:
    """Lists in which a node stands too early, too late, twice, or not at all."""
    used = {source for node in order for source in node.src}
    for place, node in enumerate(order):
        rest = [*order[:place], *order[place + 1 :]]
        if node in used or node.op is Op.END:
            yield rest
        yield [*order, node]
        yield [*order[:place], node, *order[place:]]
        if node in used:
            yield [*rest, node]
        if node.src:
            yield [node, *rest]
        if node.op is Op.END:
            inside = order[order.index(node.src[-1]) + 1 : place]
            for value in inside:
                if value.dtype is not dtypes.void:
                    after = make(Op.STACK, None, (value,)) if not value.shape else value + value
                    yield [*order[: place + 1], after, *order[place + 1 :]]
            ranges = [other for other in inside if other.op is Op.RANGE]
            for other in ranges:
                # The inner loop is closed after the outer one.
                end = next(n for n in order if n.op is Op.END and other in n.src)
                without = [n for n in order if n is not end]
                where = without.index(node) + 1
                yield [*without[:where], end, *without[where:]]


def all_mutations(samples: list) -> dict[str, list[Mutation]]:
    """Every mutation of every sample, by kind."""
    found: dict[str, list[Mutation]] = {}

    def add(kind: str, check: Mutation) -> None:
        found.setdefault(kind, []).append(check)

    def checking(root: UOp, level: str) -> Mutation:
        return lambda: verify(root, level)

    for sample in samples:
        root, level = sample.root, sample.level
        nodes = toposort([root])
        for node in nodes:
            for kind, mutants in (
                ("arity", changed_arity(node)),
                ("dtype", changed_dtype(node)),
                ("shape", changed_shape(node)),
                ("level", changed_level(node, level)),
            ):
                for mutant in mutants:
                    add(kind, checking(in_place_of(root, node, mutant), level))
            for mutant in changed_scope(root, node):
                add("scope", checking(mutant, level))
        for other in LEVELS:
            if any(other not in OP_TABLE[node.op].levels for node in nodes):
                add("level", checking(root, other))
        for order in changed_order(sample.order):
            add("scope", lambda order=order: verify_program(order))
    return found


@pytest.fixture(scope="module")
def mutations(samples: list) -> dict[str, list[Mutation]]:
    return all_mutations(samples)


@pytest.mark.parametrize("kind", ["arity", "dtype", "shape", "level", "scope"])
def test_every_mutation_is_refused(mutations: dict[str, list[Mutation]], kind: str) -> None:
    """All of them, thousands together: random ones would only be some."""
    assert len(mutations[kind]) >= 200
    for mutation in mutations[kind]:
        with pytest.raises(VerificationError, match=r"(?s)why: .* fix: .*"):
            mutation()


# Single cases -----------------------------------------------------------------------------------


def _place(elements: int = 16) -> UOp:
    return make(Op.PARAM, dtypes.float32, (), ParamArg(0, elements, "cpu"))


def test_the_error_names_the_node_and_says_why_and_how() -> None:
    wrong = make(Op.ADD, None, (const(dtypes.int32, 1), const(dtypes.int8, 2)))
    with pytest.raises(VerificationError) as raised:
        verify(wrong, "graph")
    text = str(raised.value)
    assert "<ADD int32[]> of (<CONST int32[] 1>, <CONST int8[] 2>)" in text
    assert "int32 and int8" in text
    assert "cast one side" in text


def test_an_unknown_level_lists_the_choices() -> None:
    with pytest.raises(ArgumentError, match="graph, kernel, program"):
        verify(const(dtypes.int8, 1), "tensor")


def test_a_range_is_used_inside_its_loop_only() -> None:
    i = make(Op.RANGE, None, (const(dtypes.weakint, 16),), RangeArg(0, AxisKind.LOOP))
    x = _place()
    effect = x.index(i).store(const(dtypes.float32, 1))
    with pytest.raises(VerificationError, match="outside its END"):
        verify(make(Op.SINK, None, (effect,), KernelArg("open")), "kernel")
    # y[i] / sum over i of y[i]: the sum needs a RANGE of its own.
    total = x.index(i).reduce(Op.ADD, ranges=(i,))
    effect = x.index(i).store(x.index(i) / total).end(i)
    with pytest.raises(VerificationError, match="RANGE of its own"):
        verify(make(Op.SINK, None, (effect,), KernelArg("mixed")), "kernel")


def test_a_range_may_be_summed_itself() -> None:
    i = make(Op.RANGE, None, (const(dtypes.weakint, 16),), RangeArg(0, AxisKind.REDUCE))
    total = i.reduce(Op.ADD, ranges=(i,)).cast(dtypes.float32)
    effect = _place().index(const(dtypes.weakint, 0)).store(total)
    verify(make(Op.SINK, None, (effect,), KernelArg("sum")), "kernel")


def test_bools_do_not_add() -> None:
    yes = const(dtypes.bool_, True)
    with pytest.raises(VerificationError, match="means nothing in bool"):
        verify(yes + yes, "graph")


def test_a_closed_gate_needs_a_value() -> None:
    place = _place().index(const(dtypes.int32, 0))
    load = make(Op.LOAD, None, (place, const(dtypes.bool_, True)))
    with pytest.raises(VerificationError, match="gate needs a value"):
        check_node(load)


@pytest.mark.parametrize("dtype", [dtypes.weakint, dtypes.weakfloat], ids=str)
def test_nothing_weak_is_left_in_a_program(dtype: DType) -> None:
    with pytest.raises(VerificationError, match="has no width"):
        verify_program([const(dtype, 1)])


def test_a_deep_graph_verifies() -> None:
    x = _place()
    for n in range(50_000):
        x = x + float(n)
    verify(x, "graph")


def test_nodes_are_checked_as_they_are_built_under_spec() -> None:
    code = "from tiny_ir import *; const(dtypes.int32, 1) + const(dtypes.int8, 1)"
    for spec, refused in (("0", False), ("1", True)):
        environment = {**os.environ, "SPEC": spec}
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
        assert (run.returncode != 0) == refused, run.stderr.decode()
        assert (b"VerificationError" in run.stderr) == refused


def test_a_kernel_loads_registers_only() -> None:
    i = make(Op.RANGE, None, (const(dtypes.weakint, 16),), RangeArg(0, AxisKind.LOOP))
    place = _place().index(i)
    effect = place.store(make(Op.LOAD, None, (place,))).end(i)
    with pytest.raises(VerificationError, match="an INDEX of a kernel is its element"):
        verify(make(Op.SINK, None, (effect,), KernelArg("load")), "kernel")


def test_indices_may_be_weak_until_they_are_narrowed() -> None:
    place = _place().index(const(dtypes.weakint, 3))
    sink = make(Op.SINK, None, (place.store(const(dtypes.float32, 1)),), KernelArg("weak"))
    verify(sink, "program", allow_weak=True)
    with pytest.raises(VerificationError, match="has no width"):
        verify(sink, "program")


def test_a_version_of_a_graph_comes_after_one_write() -> None:
    memory = make(Op.PARAM, dtypes.int32, (), ParamArg(0, 4, "cpu"))
    first, second = (memory.shrink([(at, at + 2)]).store(const(dtypes.int32, at)) for at in (0, 2))
    verify(memory.after(first), "graph")
    with pytest.raises(VerificationError, match="several writes"):
        verify(memory.after(first, second), "graph")
