"""Why compiled functions call operators of the device beside generated kernels: each kind with its
reason. operators.py holds what generated code calls against this list."""

import re

_REASONS = {
    "products, which the device's operator does, or a vendor's library": (
        r"mm|addmm|bmm|baddbmm|addbmm|_trilinear|_linear_cross_entropy_batch_chunked\w*"
    ),
    "convolutions, for the same reason": r"convolution(_backward)?",
    "linear algebra, which is LAPACK's": (
        r"_?linalg_\w+|cholesky\w*|geqrf|ormqr|lu_unpack|triangular_solve"
    ),
    "FFT": r"_fft_\w+",
    "complex numbers, which Inductor generates for no device": (
        r"view_as_(real|complex)|_conj\w*|polar|complex|_efficientzerotensor|convert_element_type"
    ),
    "sorting and what needs it": r"sort|topk|mode|kthvalue|(nan)?median|_?unique\w*",
    "results whose size turns on values": r"masked_select|nonzero\w*|bincount",
    "histograms": r"_?hist\w+",
    "random numbers that Inductor draws by the operator": r"uniform|normal\w*|multinomial",
    "backward of pooling, padding and sampling, which Inductor leaves to the operator": (
        r"_?adaptive_\w+|fractional_max_pool\dd_backward|max_pool3d_with_indices_backward"
        r"|replication_pad\dd_backward|grid_sampler_\w+|_upsample_\w+_aa(_backward)?"
        r"|masked_scatter_backward|_embedding_bag\w*|_?segment_reduce\w*|_cdist_\w+|_pdist_\w+"
    ),
    "atomic operations other than sums, and sums of int64, which torch leaves to the operator": (
        r"index_reduce|index_add|scatter_reduce|index_put_?|scatter_?"
    ),
    "whole numbers, of which Inductor has no such operation": r"gcd|pow",
    "a scan whose rows are long": r"cum\w+|logcumsumexp",
    "asked for as a whole": r"hash_tensor|segment_reduce",
}


# Of complex numbers too, where one of these operators is beside them.
_ON_COMPLEX = re.compile(r"view_as_(real|complex)|_fft_\w+|polar|complex|_efficientzerotensor")


def without_reason(operators: list[str]) -> list[str]:
    """`operators` as generated code names them: mm, aten.sort.stable, prims.normal.default."""
    names = {each: each.split(".")[1] if "." in each else each for each in operators}
    if any(_ON_COMPLEX.fullmatch(name) for name in names.values()):
        return []
    known = re.compile("|".join(f"(?:{pattern})" for pattern in _REASONS.values()))
    return [each for each, name in names.items() if not known.fullmatch(name)]
