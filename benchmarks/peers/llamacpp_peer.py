"""llama.cpp: a whole token, of which the products of matrices and vectors are the most.

It offers no part of a token alone. What it gives is checked by the text it writes.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from models.smollm2 import FULL, weights_file
from peers.peer import Call, Timed
from works.work import Array, Arrays, Work

PROMPT = (504, 3575, 282, 4649, 314, 7042, 28, 284, 260, 3575, 282, 7158, 314)
"""The capital of France is Paris, and the capital of Italy is"""

BEGINNING = " Rome."
TOKENS = 16


class LlamaCpp:
    """llama.cpp, through xllamacpp."""

    def prepare(self, work: Work, arrays: Arrays) -> Call | None:
        """Load the model."""
        path = weights_file()
        if path is None or work.options.get("layers") != FULL.layers:
            return None
        library: Any = import_module("xllamacpp")
        threads = int(os.environ["BENCH_THREADS"])
        parameters = library.CommonParams()
        parameters.model.path = str(path)
        parameters.n_ctx = 128
        parameters.cpuparams.n_threads = threads
        parameters.cpuparams_batch.n_threads = threads
        server = library.Server(parameters)
        question = {"prompt": list(PROMPT), "max_tokens": TOKENS, "temperature": 0.0}

        def call() -> Timed:
            answer = server.handle_completions(dict(question))
            text = answer["choices"][0]["text"]
            if not text.startswith(BEGINNING):
                raise ValueError(f"wrote {text!r}")
            return Timed(answer["timings"]["predicted_per_token_ms"] / 1e3)

        return call

    def numbers(self, result: Any) -> Array | None:
        """None: there is only the text."""
        return None


def make() -> LlamaCpp:
    """The peer."""
    return LlamaCpp()
