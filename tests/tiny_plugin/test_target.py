"""A Target answers what a machine can do."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

from tiny_ir import Op, dtypes
from tiny_plugin import FloatFacts, Space, Target, pairs, replace

TOY = Target(
    "toy",
    arch="toy-1",
    form="wide",
    supported=pairs([Op.ADD, Op.MUL, Op.EXP2], [dtypes.float32, dtypes.int32]),
    storage=frozenset({dtypes.float32, dtypes.int8}),
    floats=(FloatFacts(dtypes.float32, fma=True), FloatFacts(dtypes.float64)),
    vector_nbytes=(64, 32),
    spaces=(Space("global"), Space("scratch", 1 << 16)),
    grid_limits=(1 << 20,),
    atomics=pairs([Op.ADD], [dtypes.int32]),
)


def test_it_supports_pairs_of_op_and_dtype() -> None:
    assert TOY.supports(Op.ADD, dtypes.float32)
    assert not TOY.supports(Op.ADD, dtypes.float64)
    assert not TOY.supports(Op.SUB, dtypes.float32)


def test_lanes_follow_from_the_widest_vector() -> None:
    assert TOY.lanes(dtypes.float32) == 16
    assert TOY.lanes(dtypes.int8) == 64
    assert TOY.lanes(dtypes.float64) == 8
    assert Target("plain").lanes(dtypes.float32) == 1


def test_it_answers_the_other_questions() -> None:
    assert TOY.stores(dtypes.int8)
    assert not TOY.stores(dtypes.float16)
    assert TOY.has_atomic(Op.ADD, dtypes.int32)
    assert not TOY.has_atomic(Op.MAX, dtypes.int32)
    assert TOY.has_fma(dtypes.float32)
    assert not TOY.has_fma(dtypes.float64)
    assert not TOY.has_fma(dtypes.float16)
    assert TOY.space("scratch") == Space("scratch", 1 << 16)
    assert TOY.space("shared") is None
    assert TOY.grid_axes == 1


def test_it_hashes_and_survives_pickle() -> None:
    again = pickle.loads(pickle.dumps(TOY))
    assert again == TOY
    assert hash(again) == hash(TOY)
    assert {TOY: 1}[again] == 1


def test_its_key_is_the_same_in_every_process() -> None:
    program = "import pickle, sys; print(pickle.loads(bytes.fromhex(sys.argv[1])).key(), end='')"
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", program, pickle.dumps(TOY).hex()],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        assert done.stdout == TOY.key()


def test_its_key_changes_with_every_field() -> None:
    assert replace(TOY, cores=8).key() != TOY.key()
    assert replace(TOY, supported=pairs([Op.ADD], [dtypes.int8])).key() != TOY.key()
