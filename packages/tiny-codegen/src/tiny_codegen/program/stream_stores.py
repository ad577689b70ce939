"""Long results are written past the caches, which keep what is read meanwhile.

before   END(STORE(INDEX(p, i*16; 16), x), i)   more of them than a cache keeps
after    END(STORE(INDEX(p, i*16; 16), x; STREAMED), i)

A plain store first reads the line that it writes into a cache, and pushes another one out: twice
the traffic, for data that is gone again before anything reads it. A result that fits is left to the
cache, where its reader finds it.
"""

from __future__ import annotations

from math import prod

from tiny_codegen.buffers import loaded_from, memory_of
from tiny_codegen.scopes import Scope, loops_of_stores, scopes_of
from tiny_ir import Op, StoreArg, UOp, bounds, make, rebuild, simplify, toposort
from tiny_plugin import Target

CACHE_SHARE = 0.5
"""The part of the last cache that a result may fill and still be found there by its reader."""


def stream_stores(sink: UOp, target: Target) -> UOp:
    """Mark wide stores of whole registers, where a kernel writes more than the last cache keeps."""
    if not target.cache_nbytes or not target.vector_nbytes:
        return sink
    nodes = toposort((sink,))
    scopes = scopes_of(nodes)
    streamed = {
        store
        for store, around in loops_of_stores(nodes).items()
        if store.op is Op.STORE
        and _is_long(store, around | scopes[store], target)
        and _is_aligned(store, target)
    }
    loaded = loaded_from(nodes)
    streamed = {store for store in streamed if memory_of(store.src[0]) not in loaded}
    if not streamed:
        return sink
    done: dict[UOp, UOp] = {}
    for node in nodes:
        src = tuple([done[source] for source in node.src])
        if node in streamed:
            done[node] = make(Op.STORE, None, src, StoreArg(is_streamed=True))
        else:
            done[node] = node if src == node.src else rebuild(node, src)
    return done[sink]


def _is_long(store: UOp, around: Scope, target: Target) -> bool:
    index = store.src[0]
    if index.op is not Op.INDEX or index.arg is None or index.src[0].op is not Op.PARAM:
        return False
    workers = {node for node in toposort((index,)) if node.op is Op.SPECIAL}
    times = prod(int(bounds(axis)[1]) + 1 for axis in (*around, *workers))
    nbytes = times * int(index.arg) * store.src[1].dtype.nbytes
    return nbytes > CACHE_SHARE * target.cache_nbytes[-1]


def _is_aligned(store: UOp, target: Target) -> bool:
    """Whether whole registers are written, each to a multiple of its size."""
    index, value = store.src[:2]
    lanes = int(index.arg)
    if len(store.src) > 2 or lanes * value.dtype.nbytes % max(target.vector_nbytes):
        return False
    rest = simplify(index.src[1] % lanes)
    return rest.op is Op.CONST and rest.arg == 0
