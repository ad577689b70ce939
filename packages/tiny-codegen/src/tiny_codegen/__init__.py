"""From a graph of UOps to fast kernels."""
