"""Names of torch's database that have no counterpart here, and why."""

from __future__ import annotations

COMPLEX = "complex numbers: there is no complex dtype"
SPARSE = "sparse layouts: tensors are dense"
STRIDES = "asks for strides of memory: a tensor here has a shape, and no strides"
INTERNAL = "internal to torch: takes what only its own kernels yield"
OTHER = "finite differences under this name; gradient() here differentiates"
FACTORS = "the factors inside of qr(), solve(), inv() and det(), in the form of LAPACK, stay inside"
FUNCTION = "a function that is missing here"
LOW_RANK = "by random projections; svd() is exact"
MISSING = "missing here"
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
        (
            "as_strided",
            "as_strided_copy",
            "as_strided_scatter",
            "empty_permuted",
            "empty_strided",
            "new_empty_strided",
            "resize_",
            "resize_as_",
        ),
        STRIDES,
    ),
    **dict.fromkeys(
        (
            "geqrf",
            "linalg.householder_product",
            "linalg.ldl_factor",
            "linalg.ldl_factor_ex",
            "linalg.ldl_solve",
            "linalg.lu",
            "linalg.lu_factor",
            "linalg.lu_factor_ex",
            "linalg.lu_solve",
            "lu",
            "lu_solve",
            "lu_unpack",
            "ormqr",
        ),
        FACTORS,
    ),
    **dict.fromkeys(
        ("igamma", "igammac", "special.airy_ai", "special.zeta", "frexp"),
        FUNCTION,
    ),
    **dict.fromkeys(
        (
            "histogramdd",
            "istft",
            "nanquantile",
            "nn.functional.ctc_loss",
            "nn.functional.fractional_max_pool2d",
            "nn.functional.fractional_max_pool3d",
            "nn.functional.multi_head_attention_forward",
            "stft",
            "_segment_reduce",
            "_upsample_bilinear2d_aa",
        ),
        MISSING,
    ),
    **dict.fromkeys(("pca_lowrank", "svd_lowrank"), LOW_RANK),
    "broadcast_shapes": "takes and gives shapes, and no tensor",
    "nn.functional.linear_cross_entropy": "two methods in one: linear() and cross_entropy()",
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
            "_batch_norm_with_update",
            "_chunk_cat",
            "_native_batch_norm_legit",
            "_unsafe_masked_index_put_accumulate",
            "hash_tensor",
            "max_pool2d_with_indices_backward",
            "native_batch_norm",
            "torch.ops.aten._efficient_attention_forward",
            "torch.ops.aten._flash_attention_forward",
        ),
        INTERNAL,
    ),
}
