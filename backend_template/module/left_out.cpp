#include "backend_template/module/left_out.h"

#include <algorithm>
#include <iterator>

namespace outback::python {
namespace {

struct left_out {
  std::string_view name;
  std::string_view why;
};

// Each text ends the sentence "module 'torch.acme' has no attribute 'nccl', unlike torch.cuda:
// ...".
constexpr left_out all[] = {
    {"CUDAPluggableAllocator", "a runtime brings its own allocation"},
    {"CudaError", "a failed call raises torch.AcceleratorError"},
    {"DeferredCudaCallError", "here it is DeferredCallError"},
    {"GreenContext", "it splits CUDA devices only"},
    {"check_error", "a failed call raises torch.AcceleratorError"},
    {"cudaStatus", "a failed call raises torch.AcceleratorError"},
    {"cudart", "it is CUDA's own library"},
    {"current_blas_handle", "it belongs to cuBLAS"},
    {"current_solver_handle", "it belongs to cuSOLVER"},
    {"export_dot", "a runtime cannot say what is in a graph"},
    {"export_graph_data", "a runtime cannot say what is in a graph"},
    {"get_arch_list", "there are no architectures to compile kernels for"},
    {"get_gencode_flags", "there are no architectures to compile kernels for"},
    {"graph_annotations", "it marks the kernels of CUDA's graphs"},
    {"has_half", "see is_bf16_supported and get_amp_supported_dtype"},
    {"has_magma", "MAGMA is for CUDA only"},
    {"is_tf32_supported", "TF32 is a format of CUDA devices"},
    {"jiterator", "it compiles CUDA kernels"},
    {"nccl", "it is CUDA's own library; torch.distributed has the process groups"},
    {"nvtx", "it is CUDA's own library; see torch.profiler.record_function"},
    {"profiler", "it drives CUDA's own profiler; see torch.profiler"},
    {"sparse", "sparse tensors have no types of their own here; see torch.sparse"},
    {"tunable", "it tunes cuBLAS"},
};

}  // namespace

std::string_view why_left_out(std::string_view attribute) {
  const auto* const found =
      std::find_if(std::begin(all), std::end(all),
                   [&](const left_out& entry) { return entry.name == attribute; });
  return found == std::end(all) ? std::string_view() : found->why;
}

}  // namespace outback::python
