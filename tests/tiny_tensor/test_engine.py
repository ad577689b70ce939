"""The parts of the engine, each by itself: hazards, canonical graphs, memory plans, versions."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tiny_ir import ArgumentError, BufferArg, Op, UOp, VariableArg, const, dtypes, make
from tiny_plugin import Offer, Schedule, Slot
from tiny_tensor import Session
from tiny_tensor.engine.canonical import canonical_of
from tiny_tensor.engine.hazards import Dominators, with_safe_writes
from tiny_tensor.engine.launch_values import bound
from tiny_tensor.engine.plan import Plan
from tiny_tensor.engine.versions import version_text
from tiny_tensor.sizes import concrete_shape
from tiny_tensor.storage import piece_of_memory


def buffer(identity: int, elements: int = 4) -> UOp:
    """Memory with a name."""
    return make(Op.BUFFER, dtypes.int32, (), BufferArg(identity, elements, "cpu"))


def written(old: UOp, value: UOp | None = None) -> UOp:
    """The version of memory after its first element was written."""
    view = old.shrink([(0, 1)])
    return old.after(view.store(value or view + 1))


# Hazards.


def test_what_all_ways_lead_through_dominates() -> None:
    a, b = buffer(1), buffer(2)
    total = a + b
    root = (total * total) + total
    found = Dominators([root], [a, total, b])
    assert found.dominates(total, a)
    assert found.dominates(root, b)
    assert not found.dominates(total * total, a)
    assert not Dominators([root, a], [a]).dominates(total, a)


def test_a_lone_write_happens_in_place(session: Session) -> None:
    old = buffer(1)
    version = written(old)
    assert with_safe_writes([version], [], session)[version] is version


def test_a_write_whose_old_version_is_read_goes_to_a_copy(session: Session) -> None:
    old = buffer(1)
    version = written(old)
    for roots, others in (([version, old + 1], []), ([version], [old + 1]), ([version + old], [])):
        safe = with_safe_writes(roots, others, session)[version]
        assert safe is not version
        copy = safe.src[0]
        assert copy.op is Op.AFTER
        assert copy.src[0] is not old
        assert copy.src[1].src[1] is old


def test_a_write_may_read_what_it_writes(session: Session) -> None:
    old = buffer(1)
    version = written(old, (old.shrink([(1, 2)]) + old.shrink([(2, 3)])) * 2)
    assert with_safe_writes([version], [], session)[version] is version


def test_only_the_version_that_is_read_is_copied(session: Session) -> None:
    first = written(buffer(1))
    second = written(first, const(dtypes.int32, 5).reshape([1]))
    safe = with_safe_writes([second, first + 1], [], session)
    assert safe[first] is first
    assert safe[second] is not second
    third = written(second, const(dtypes.int32, 6).reshape([1]))
    assert with_safe_writes([third], [], session)[third] is third


def test_a_value_that_reads_an_older_version_forces_a_copy(session: Session) -> None:
    old = buffer(1)
    first = written(old)
    second = written(first, old.shrink([(3, 4)]))
    safe = with_safe_writes([second], [], session)
    assert safe[first] is not first
    assert safe[second].src[0] is safe[first]


def test_a_long_chain_of_writes_takes_no_recursion(session: Session) -> None:
    version = buffer(1)
    for n in range(5000):
        version = written(version, const(dtypes.int32, n).reshape([1]))
    assert with_safe_writes([version], [], session)[version] is version


# Canonical graphs.


def test_graphs_that_do_the_same_are_one_node() -> None:
    def graph(first: int, second: int, number: int) -> UOp:
        value = buffer(first) + bound("n", number, 0, 100).cast(dtypes.int32)
        return make(Op.SINK, None, (buffer(second).store(value),))

    one, other = canonical_of(graph(11, 12, 3)), canonical_of(graph(21, 22, 7))
    assert one.graph is other.graph
    assert [node.arg.identity for node in one.buffers] == [12, 11]
    assert [node.arg.identity for node in other.buffers] == [22, 21]
    assert one.values() == {"v0": 3}
    assert other.values() == {"v0": 7}


def test_one_buffer_in_two_places_is_another_graph() -> None:
    two = make(Op.SINK, None, (buffer(1).store(buffer(2) + buffer(3)),))
    same = make(Op.SINK, None, (buffer(1).store(buffer(2) + buffer(2)),))
    assert canonical_of(two).graph is not canonical_of(same).graph


def test_a_variable_without_a_number_is_refused() -> None:
    free = make(Op.VARIABLE, dtypes.weakint, (), VariableArg("n", 0, 5))
    graph = make(Op.SINK, None, (buffer(1).store(buffer(2) + free.cast(dtypes.int32)),))
    with pytest.raises(ArgumentError, match="'n' has no value"):
        canonical_of(graph)


# Memory.


def temporary(elements: int, first: int, last: int) -> Slot:
    """A temporary of so many bytes."""
    return Slot(dtypes.uint8, elements, "cpu", "temporary", first, last)


def test_temporaries_that_never_meet_share_bytes() -> None:
    slots = (temporary(1000, 0, 1), temporary(1000, 2, 3), temporary(1000, 1, 2))
    plan = Plan(Schedule(slots, ()), {})
    assert plan.offsets[0] == plan.offsets[1]
    assert plan.offsets[2] != plan.offsets[0]
    assert plan.nbytes == {"cpu": 2048}


@pytest.mark.parametrize("seed", range(20))
def test_temporaries_that_live_together_do_not_overlap(seed: int) -> None:
    draw = random.Random(seed)
    slots = []
    for _ in range(30):
        first = draw.randint(0, 20)
        slots.append(temporary(draw.randint(1, 5000), first, first + draw.randint(0, 6)))
    plan = Plan(Schedule(tuple(slots), ()), {})
    spans = [(o, o + s.nbytes, s) for (_, o), s in zip(plan.offsets, slots, strict=True)]
    for begin, end, slot in spans:
        assert begin % 64 == 0
        assert end <= plan.nbytes["cpu"]
        for other_begin, other_end, other in spans:
            together = slot.first <= other.last and other.first <= slot.last
            assert slot is other or not together or end <= other_begin or other_end <= begin


def test_rows_that_lie_together_are_found_in_memory() -> None:
    base = buffer(1, 24).reshape((2, 3, 4))
    node = base.shrink([(1, 2), (0, 3), (0, 4)])
    assert piece_of_memory(node) == (buffer(1, 24), 12)
    node = base.shrink([(1, 2), (1, 3), (0, 4)]).reshape((2, 4))
    assert piece_of_memory(node) == (buffer(1, 24), 16)
    node = node.shrink([(1, 2), (1, 3)])
    assert piece_of_memory(node) == (buffer(1, 24), 21)
    assert piece_of_memory(base.shrink([(0, 2), (1, 2), (0, 4)])) is None
    assert piece_of_memory(base.permute((0, 2, 1))) is None
    assert piece_of_memory(base + 1) is None


def test_bound_sizes_become_numbers() -> None:
    n = bound("n", 5, 1, 10)
    assert concrete_shape((3, n, n * 2 + 1)) == (3, 5, 11)


# Versions.


def installed(folder: Path, files: dict[str, str], record: str) -> Offer:
    """A distribution in a folder, and what it offers."""
    package = folder / "toy_package"
    info = folder / "toy-1.0.dist-info"
    package.mkdir(parents=True)
    info.mkdir()
    for name, text in files.items():
        (package / name).write_text(text)
    (info / "RECORD").write_text(record)
    (info / "METADATA").write_text(
        "Name: toy\nRequires-Dist: helper>=1\nRequires-Dist: x; extra == 'y'\n"
    )
    (folder / "helper-2.5.dist-info").mkdir()
    return Offer(
        "tiny.codegen", "toy", "toy_package.plugin", "toy", "1.0", str(info / "entry_points.txt")
    )


def test_a_wheel_is_known_by_its_record(tmp_path: Path) -> None:
    offer = installed(tmp_path, {"__init__.py": ""}, "toy_package/__init__.py,sha256=a,0\n")
    before = version_text([offer])
    assert "helper-2.5.dist-info" in before
    os.utime(tmp_path / "toy_package" / "__init__.py", (1, 1))
    assert version_text([offer]) == before
    (tmp_path / "toy-1.0.dist-info" / "RECORD").write_text("toy_package/__init__.py,sha256=b,0\n")
    assert version_text([offer]) != before


def test_an_editable_tree_is_known_by_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer = installed(tmp_path, {"__init__.py": "", "plugin.py": ""}, "toy.pth,sha256=a,0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    before = version_text([offer])
    assert version_text([offer]) == before
    (tmp_path / "toy_package" / "plugin.py").write_text("x = 1\n")
    assert version_text([offer]) != before


def test_a_required_library_is_part_of_the_version(tmp_path: Path) -> None:
    offer = installed(tmp_path, {"__init__.py": ""}, "toy_package/__init__.py,sha256=a,0\n")
    before = version_text([offer])
    (tmp_path / "helper-2.5.dist-info").rename(tmp_path / "helper-2.6.dist-info")
    assert version_text([offer]) != before
