"""Which of PyTorch's test files have device-generic tests of what a backend does by itself.

Left out are those about a build of PyTorch (jit, onnx, mobile), about one device (cuda, mps, xpu),
and those that take a compiler for the device or several processes.
"""

from __future__ import annotations

# What each is about, in the order in which they run; what everything else stands on comes first.
FILES = {
    "test_torch.py": "tensors' methods and torch's functions",
    "test_view_ops.py": "views",
    "test_indexing.py": "indexing",
    "test_tensor_creation_ops.py": "creation of tensors, random ones too",
    "test_shape_ops.py": "shapes",
    "test_type_promotion.py": "type promotion",
    "test_sort_and_select.py": "sort and select",
    "test_scatter_gather_ops.py": "scatter and gather",
    "test_reductions.py": "reductions",
    "test_segment_reductions.py": "reductions of segments",
    "test_unary_ufuncs.py": "elementwise operators of one argument",
    "test_binary_ufuncs.py": "elementwise operators of two arguments",
    "test_linalg.py": "linear algebra",
    "test_spectral_ops.py": "Fourier transforms",
    "test_complex.py": "complex tensors",
    "test_foreach.py": "operators of lists of tensors",
    "test_serialization.py": "serialization",
    "test_dlpack.py": "DLPack",
    "test_numpy_interop.py": "exchange with NumPy",
    "test_accelerator.py": "torch.accelerator",
    "test_autocast.py": "autocast",
    "test_autograd.py": "autograd",
    "test_optim.py": "optimizers",
    "test_modules.py": "modules by module_db",
    "test_nn.py": "modules and their functions",
    "nn/test_convolution.py": "convolutions",
    "nn/test_dropout.py": "dropout",
    "nn/test_embedding.py": "embeddings",
    "nn/test_init.py": "initialization",
    "nn/test_lazy_modules.py": "lazy modules",
    "nn/test_load_state_dict.py": "state dicts",
    "nn/test_module_hooks.py": "hooks of modules",
    "nn/test_multihead_attention.py": "multihead attention",
    "nn/test_packed_sequence.py": "packed sequences",
    "nn/test_parametrization.py": "parametrizations",
    "nn/test_pooling.py": "pooling",
    "nn/test_pruning.py": "pruning",
    "test_native_mha.py": "native multihead attention",
    "test_transformers.py": "transformers and attention",
    "test_expanded_weights.py": "gradients for each sample",
    "test_maskedtensor.py": "masked tensors",
    "test_nestedtensor.py": "nested tensors",
    "test_sparse.py": "sparse tensors",
    "test_sparse_csr.py": "compressed sparse tensors",
    "distributions/test_distributions.py": "distributions",
    "test_ops.py": "operators by op_db",
    "test_ops_gradients.py": "gradients by op_db",
    "test_ops_fwd_gradients.py": "forward gradients by op_db",
    "test_meta.py": "meta functions by op_db",
    "test_fake_tensor.py": "fake tensors",
}
SUITE = "pytorch/"  # and the path of a file without its ending


def suite_of(file: str) -> str:
    return SUITE + file.removesuffix(".py")


def file_of(suite: str) -> str:
    """Of a suite as a report has it, or of a file as the folder has it."""
    return suite.removeprefix(SUITE).removesuffix(".py") + ".py"
