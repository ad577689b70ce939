"""Every error says what, why and how to fix it, and is one that a Python user would catch."""

from __future__ import annotations

import pickle

import pytest

import tiny_ir.errors
from tiny_ir import AxisError, DTypeError, IndexingError, ShapeError, StateError, TinyError

KINDS = [getattr(tiny_ir.errors, name) for name in tiny_ir.errors.__all__]


def test_the_message_has_four_lines() -> None:
    error = ShapeError(
        "cannot multiply (3, 4) by (5, 6)",
        why="the last size of the left (4) must equal the next-to-last of the right (5)",
        fix="reshape or transpose one side so that both inner sizes agree",
    )
    assert str(error).splitlines() == [
        "cannot multiply (3, 4) by (5, 6).",
        "  why: the last size of the left (4) must equal the next-to-last of the right (5).",
        "  fix: reshape or transpose one side so that both inner sizes agree.",
        "  see: docs/reference/errors.md#tiny-110",
    ]


def test_a_code_of_its_own_takes_the_place_of_the_kinds() -> None:
    error = ShapeError("no", why="so", fix="do", code="tiny-115")
    assert error.code == "tiny-115"
    assert str(error).endswith("#tiny-115")
    assert ShapeError.code == "tiny-110"


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_survives_pickle(kind: type[TinyError]) -> None:
    error = kind("what", why="why", fix="fix")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert str(again) == str(error)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not TinyError])
def test_every_kind_is_a_builtin_error_too(kind: type[TinyError]) -> None:
    builtins = [k for k in kind.__mro__ if k.__module__ == "builtins"]
    assert builtins[0] not in (Exception, BaseException)


def test_codes_are_not_shared() -> None:
    codes = [kind.code for kind in KINDS]
    assert len(set(codes)) == len(codes)


def test_a_python_user_catches_them() -> None:
    for kind, builtin in (
        (ShapeError, ValueError),
        (DTypeError, TypeError),
        (AxisError, IndexError),
        (IndexingError, IndexError),
        (StateError, KeyError),
    ):
        with pytest.raises(builtin):
            raise kind("what", why="why", fix="fix")
