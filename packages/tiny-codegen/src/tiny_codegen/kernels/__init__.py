"""graph -> kernels."""
