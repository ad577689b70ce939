"""A lazy tensor library that compiles itself."""

from tiny_ir import DType, TinyError, dtypes
from tiny_tensor.jit import TinyJit, jit
from tiny_tensor.methods.custom_kernels import kernel_axis
from tiny_tensor.session import Session, current_session
from tiny_tensor.tensor import Tensor
from tiny_tensor.variable import Variable

__all__ = [
    "DType",
    "Session",
    "Tensor",
    "TinyError",
    "TinyJit",
    "Variable",
    "current_session",
    "dtypes",
    "jit",
    "kernel_axis",
]
