"""The header of each stage tells the truth: what it says comes before becomes what comes after."""

from __future__ import annotations

from pathlib import Path

import pytest

import tiny_codegen
from tiny_codegen.canonical import canonical
from tiny_codegen.pipeline import GRAPH_PIPELINE, KERNEL_PIPELINE
from tiny_codegen.program.number_memory import number_memory
from tiny_codegen.stage import Stage
from tiny_ir import GRAPH_LEVEL, Op, UOp, text_of
from tiny_plugin import Target, replace

from .graphs import SCALAR
from .headers import examples_of, read

ROOT = Path(tiny_codegen.__file__).parent
STAGES = {row.name: row for row in GRAPH_PIPELINE + KERNEL_PIPELINE if isinstance(row, Stage)}
FILES = {path.stem.replace("_", " "): path for path in ROOT.rglob("*.py")}
# These are rules of tiny_ir, which are proved as laws.
ELSEWHERE = {"simplify", "simplify gates", "simplify lanes"}
# A header in words: what it takes to make the stage act would fill a page.
IN_WORDS = {"foresee writes", "lay operands", "skip rare work", "transpose blocks"}

LACKING = {Op.FLOORDIV, Op.FLOORMOD, Op.POW, Op.EXP, Op.LOG, Op.SIN}
MACHINE: Target = replace(
    SCALAR,
    supported=frozenset(pair for pair in SCALAR.supported if pair[0] not in LACKING),
    vector_nbytes=(64,),
    cache_nbytes=(256,),
)


def normal(root: UOp, level: str) -> str:
    """The text of a graph, whatever its parts are numbered."""
    if level == GRAPH_LEVEL:
        return text_of(root)
    return text_of(number_memory(canonical(root)[0], MACHINE))


def test_every_stage_has_a_file_of_its_name() -> None:
    assert set(STAGES) - set(FILES) == ELSEWHERE


@pytest.mark.parametrize("name", sorted(set(STAGES) - ELSEWHERE - IN_WORDS))
def test_before_becomes_after(name: str) -> None:
    examples = examples_of(FILES[name])
    assert examples, "a stage shows what it does: a line that begins with before, one with after"
    stage = STAGES[name]
    for before, after in examples:
        found = normal(stage.run(read(before), MACHINE), stage.level)
        assert found == normal(read(after), stage.level), f"{before}\nbecomes\n{found}"
