"""A record is what `dataclasses` would have made of the class."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest

from tiny_plugin import Mark, Memory, record, replace


@record(frozen=True, slots=True)
class Point:
    """Two numbers and a name."""

    x: int
    y: int = 2
    name: str = "p"

    @property
    def total(self) -> int:
        """A method is kept."""
        return self.x + self.y


@dataclasses.dataclass(frozen=True, slots=True)
class Twin:
    """The same, by `dataclasses`."""

    x: int
    y: int = 2
    name: str = "p"


def test_it_is_made_by_place_and_by_name() -> None:
    assert Point(1) == Point(x=1, y=2, name="p") == Point(1, name="p")
    assert Point(1, 5).total == 6
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Point(1, z=1)  # type: ignore[call-arg]


def test_it_compares_and_hashes_by_value() -> None:
    assert hash(Point(1)) == hash(Point(1)) == hash(Twin(1))
    assert Point(1) != Point(2)
    assert Point(1) != Twin(1)
    assert len({Point(1), Point(1), Point(2)}) == 2


def test_it_prints_like_a_dataclass() -> None:
    assert repr(Point(1)) == repr(Twin(1)).replace("Twin", "Point")


def test_it_is_frozen_and_has_slots() -> None:
    point = Point(1)
    with pytest.raises(AttributeError, match="Point is frozen"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(AttributeError, match="Point is frozen"):
        del point.x
    with pytest.raises(AttributeError):
        object.__setattr__(point, "other", 1)
    assert not hasattr(point, "__dict__")


def test_it_survives_pickle_and_copy() -> None:
    memory = Memory("cpu", b"handle", 8, 4)
    assert pickle.loads(pickle.dumps(memory)) == memory
    assert copy.deepcopy(memory) == copy.copy(memory) == memory


def test_it_matches() -> None:
    match Mark("q", 3):
        case Mark(queue, number):
            assert (queue, number) == ("q", 3)


def test_it_is_replaced() -> None:
    assert replace(Point(1), y=7) == Point(1, 7)
    assert dataclasses.replace(Point(1), y=7) == Point(1, 7)
    if hasattr(copy, "replace"):
        assert copy.replace(Point(1), y=7) == Point(1, 7)


def test_dataclasses_takes_it_for_one_of_its_own() -> None:
    assert dataclasses.is_dataclass(Point)
    own = [(f.name, f.default) for f in dataclasses.fields(Point)]
    assert own == [(f.name, f.default) for f in dataclasses.fields(Twin)]
    assert dataclasses.asdict(Point(1)) == dataclasses.asdict(Twin(1))


def test_a_record_that_is_not_frozen_does_not_exist() -> None:
    with pytest.raises(TypeError, match="frozen"):
        record(frozen=False, slots=True)
