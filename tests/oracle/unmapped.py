"""Names of torch's database that have no counterpart here, and why."""

from __future__ import annotations

COMPLEX = "complex numbers: there is no complex dtype"
SPARSE = "sparse layouts: tensors are dense"
STRIDES = "asks for strides of memory: a tensor here has a shape, and no strides"
INTERNAL = "internal to torch: takes what only its own kernels yield"
OTHER = "finite differences under this name; gradient() here differentiates"
JITERATOR = "compiles CUDA text with a torch-only interface"

UNMAPPED: dict[str, str] = {
    **dict.fromkeys(
        (
            "cdouble",
            "cfloat",
            "chalf",
            "complex",
            "imag",
            "polar",
            "view_as_complex",
            "view_as_real",
            "linalg.eig",
            "linalg.eigvals",
        ),
        COMPLEX,
    ),
    "gradient": OTHER,
    **dict.fromkeys(("to_sparse", "sparse.mm", "sparse.sampled_addmm"), SPARSE),
    **dict.fromkeys(
        ("empty_strided", "new_empty_strided", "empty_permuted", "resize_", "resize_as_"), STRIDES
    ),
    **dict.fromkeys(
        (
            "jiterator_2inputs_2outputs",
            "jiterator_4inputs_with_extra_args",
            "jiterator_binary",
            "jiterator_binary_return_by_ref",
            "jiterator_unary",
        ),
        JITERATOR,
    ),
    **dict.fromkeys(
        (
            "torch._scaled_mm",
            "torch._scaled_mm_v2",
            "hash_tensor",
            "torch.ops.aten._efficient_attention_forward",
            "torch.ops.aten._flash_attention_forward",
        ),
        INTERNAL,
    ),
}
