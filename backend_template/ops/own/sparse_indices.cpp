// Numbers a sparse tensor's indices, as torch's dispatch stub for that wants it of each device
// type. The check of coalesced indices calls the stub outside of any operator of ours (torch.load
// and check_invariants=True ask for that check, from torch 2.15 on).
#include <ATen/core/Tensor.h>
#include <ATen/native/DispatchStub.h>

#include "backend_template/ops/on_pointers/stubs.h"
#include "backend_template/ops/registrations.h"

namespace at::native {
// Declared here, since torch installs no header of it (ATen/native/sparse/SparseStubs.h).
using flatten_indices_fn = at::Tensor (*)(const at::Tensor& indices, at::IntArrayRef size);
DECLARE_DISPATCH(flatten_indices_fn, flatten_indices_stub)
}  // namespace at::native

namespace outback::ops {
namespace {

// On the CPU. The CPU's kernel makes its result there, so that indices lent in place save nothing.
at::Tensor flatten_indices(const at::Tensor& indices, at::IntArrayRef size) {
  return at::native::flatten_indices_stub(c10::kCPU, indices.cpu(), size).to(indices.device());
}

}  // namespace

void register_sparse_indices(registrar& /*to*/) {
  fill_stub<at::native::flatten_indices_stub>(&flatten_indices);
}

}  // namespace outback::ops
