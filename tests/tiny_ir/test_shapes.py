"""Sizes of results are numbers where they can be known."""

from __future__ import annotations

from tiny_ir import Op, ParamArg, VariableArg, dtypes, make

N = make(Op.VARIABLE, dtypes.weakint, (), VariableArg("n", 0, 3))
ROW = make(Op.PARAM, dtypes.float32, (), ParamArg(0, 1, ""))


def test_a_padded_size_is_a_number_where_symbols_cancel() -> None:
    assert ROW.pad([(N, 3 - N)]).shape == (4,)
    assert ROW.pad([(1 - N, 2 - (1 - N))]).shape == (3,)


def test_a_padded_size_keeps_the_symbols_that_stay() -> None:
    (size,) = ROW.pad([(N, 0)]).shape
    assert size is N + 1
