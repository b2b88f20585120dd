"""torch.acme has torch.cuda's public names, but for those that mean nothing elsewhere."""

import pytest
import torch

pytestmark = pytest.mark.any_runtime

# What the module says of each is in backend_template/module/_outback/surface.py.
LEFT_OUT = {
    "CUDAPluggableAllocator": "under that name",
    "CudaError": "CUDA's status codes",
    "DeferredCudaCallError": "under that name: DeferredCallError",
    "GreenContext": "CUDA's own",
    "check_error": "CUDA's status codes",
    "cudaStatus": "CUDA's status codes",
    "cudart": "CUDA's own",
    "current_blas_handle": "cuBLAS",
    "current_solver_handle": "cuSOLVER",
    "export_dot": "what is in a graph, which no slot tells",  # from torch 2.14 on, as the next two
    "export_graph_data": "what is in a graph, which no slot tells",
    "graph_annotations": "CUDA's graphs",
    "get_arch_list": "nvcc's",
    "get_gencode_flags": "nvcc's",
    "has_half": "an answer to a question of 2017",
    "has_magma": "CUDA's own",
    "is_tf32_supported": "CUDA's own",
    "jiterator": "CUDA's own",
    "nccl": "CUDA's own",
    "nvtx": "CUDA's own",
    "profiler": "CUDA's own",
    "sparse": "legacy types of sparse tensors",
    "tunable": "cuBLAS",
}
NAMES = sorted({*torch.cuda.__all__, "get_amp_supported_dtype"} - set(LEFT_OUT))


@pytest.mark.parametrize("name", NAMES)
def test_cudas_name_is_there_listed_and_explained(name):
    assert hasattr(torch.acme, name)
    assert name in torch.acme.__all__ and name in dir(torch.acme)
    assert getattr(torch.acme, name).__doc__


@pytest.mark.parametrize("name", LEFT_OUT)
def test_a_name_that_is_left_out_says_so(name):
    words = rf"module 'torch\.acme' has no attribute '{name}', unlike torch\.cuda: "
    with pytest.raises(AttributeError, match=words):
        getattr(torch.acme, name)
    assert not hasattr(torch.acme, name)
    assert name not in dir(torch.acme)


def test_a_name_of_nobodys_is_a_plain_attribute_error():
    with pytest.raises(AttributeError, match=r"has no attribute 'no_such_name'$"):
        torch.acme.no_such_name  # noqa: B018


@pytest.mark.parametrize("name", ["OutOfMemoryError", "AcceleratorError"])
def test_torchs_errors_are_reached_as_on_cuda(name):
    assert getattr(torch.acme, name) is getattr(torch.cuda, name) is getattr(torch, name)


def test_what_torch_reads_behind_the_public_names():
    for name in ("_lazy_call", "_lazy_init", "_is_in_bad_fork", "_exchange_device", "_is_compiled"):
        assert callable(getattr(torch.acme, name))
    with torch.acme._DeviceGuard(0):
        assert torch.acme.current_device() == 0
