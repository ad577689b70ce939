"""What crosses a border keeps its facts."""

from __future__ import annotations

import pickle

import pytest

from tiny_ir import ArgumentError, const, dtypes
from tiny_plugin import Argument, Memory, Program, Slot, Target, Variable


def program() -> Program:
    """A Program with one node."""
    return Program(
        name="k",
        target=Target("toy"),
        uops=(const(dtypes.int32, 1),),
        grid=(4,),
        arguments=(Argument(dtypes.float32, 16, read=True, written=False),),
        variables=(Variable("n", 1, 8),),
    )


def test_launch_facts_are_a_program_without_its_uops() -> None:
    facts = program().launch_facts()
    assert facts.uops == ()
    assert facts.arguments == program().arguments
    assert facts.launch_facts() is facts


def test_a_program_survives_pickle() -> None:
    again = pickle.loads(pickle.dumps(program()))
    assert again == program()
    assert again.uops[0] is program().uops[0]


def test_programs_are_equal_and_hash_by_value() -> None:
    assert hash(program()) == hash(program())


def test_a_slot_knows_its_bytes() -> None:
    assert Slot(dtypes.float16, 3, "cpu").nbytes == 6


def test_a_piece_of_memory_lies_inside_it() -> None:
    memory = Memory("cpu", "block", 64, 128)
    assert memory.piece(16, 8) == Memory("cpu", "block", 8, 144)
    assert memory.piece(64, 0).offset == 192
    for offset, nbytes in ((-1, 4), (60, 8), (0, -1)):
        with pytest.raises(ArgumentError, match="not inside 64 bytes"):
            memory.piece(offset, nbytes)
