"""Memory that is not ours becomes a BUFFER: that of other libraries, and that of files."""

from __future__ import annotations

import mmap
import os
from typing import TypeAlias

from tiny_ir import DType, UOp, dtypes
from tiny_tensor.realize import upload
from tiny_tensor.session import Session

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
