"""The kinds of runs: each yields the rows of its table."""

from benches.compiling import compiling
from benches.of_works import of_works
from benches.rewriting import rewriting
from benches.run import Bench, Run

BENCHES: dict[str, Bench] = {
    "ops": of_works("ops"),
    "models": of_works("models"),
    "compile": compiling,
    "dispatch": of_works("dispatch"),
    "llm": of_works("llm"),
    "growth": of_works("growth"),
    "rewrite": rewriting,
}

DEFAULT = ("ops", "models", "compile", "dispatch", "llm", "growth")
"""What runs when nothing is named; the rewrite engine is measured when somebody works on it."""

__all__ = ["BENCHES", "DEFAULT", "Bench", "Run"]
