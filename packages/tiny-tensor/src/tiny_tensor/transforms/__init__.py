"""Functions of tensors become others: derivatives, functions of rows, gradients of one's own."""

from tiny_tensor.transforms.custom import custom_gradient
from tiny_tensor.transforms.derivatives import hessian, jacfwd, jacrev, jvp
from tiny_tensor.transforms.rows import vmap

__all__ = ["custom_gradient", "hessian", "jacfwd", "jacrev", "jvp", "vmap"]
