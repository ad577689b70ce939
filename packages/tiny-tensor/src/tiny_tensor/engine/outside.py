"""Memory that is not ours becomes a BUFFER: that of other libraries, and that of files."""

from __future__ import annotations

import mmap
import os
import weakref
from typing import TYPE_CHECKING, TypeAlias

from tiny_ir import DType, UOp, dtypes
from tiny_tensor.engine.memory import Allocation
from tiny_tensor.realize import upload
from tiny_tensor.session import Session
from tiny_tensor.sizes import concrete_size
from tiny_tensor.storage import piece_of_memory

if TYPE_CHECKING:
    from tiny_tensor.tensor_core import TensorCore

FileName: TypeAlias = str | os.PathLike[str]


def adopted(view: memoryview, dtype: DType, device: str, session: Session) -> UOp | None:
    """A BUFFER over memory of the host; None where the device does not see it."""
    with session.lock:
        opened = session.device(device)
        memory = opened.runtime.adopt(view)
        if memory is None:
            return None
        node = session.new_buffer(dtype, view.nbytes // dtype.nbytes, device)
        session.hold(node, opened.arena.adopt(memory))
        return node


def mapped_file(path: FileName, device: str, session: Session) -> UOp:
    """The bytes of a file, which the system reads when they are looked at.

    Where the device does not see the memory of the host, they are copied there now. The file must
    stay as it is meanwhile; it is never written.

    Raises:
        OSError: the file cannot be read.
    """
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return upload(b"", dtypes.uint8, device, session)
        # A private mapping: runtimes adopt only what may be written, though nobody does.
        view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    node = adopted(view, dtypes.uint8, device, session)
    return upload(view, dtypes.uint8, device, session) if node is None else node


def reinterpreted(bytes_: TensorCore, dtype: DType, session: Session) -> UOp | None:
    """A BUFFER of another dtype over the memory in which the bytes of a tensor lie.

    Neither it nor the tensor is written in place from then on.

    Returns:
        None where they lie nowhere yet, or not at a whole element: they are converted then.
    """
    found = piece_of_memory(bytes_.uop)
    nbytes = concrete_size(bytes_.numel())
    if found is None or session.capture is not None or not nbytes or nbytes % dtype.nbytes:
        return None
    buffer, offset = found
    allocation = session.allocation_of(buffer)
    if allocation is None or (allocation.memory.offset + offset) % dtype.nbytes:
        return None
    piece = Allocation(allocation.memory.piece(offset, nbytes), is_shared=True)
    allocation.is_shared = True
    weakref.finalize(piece, _let_go, allocation).atexit = False
    node = session.new_buffer(dtype, nbytes // dtype.nbytes, bytes_.device)
    session.hold(node, piece)
    return node


def _let_go(owner: object) -> None:
    """The owner was held by this call's argument until now."""
