// x[indices] = number, where x is the CPU's and the number the device's, as CUDA has it.
//
// x[mask] = number, on a device with a twin. Python hands the number over as a tensor of the CPU
// for CUDA, which makes it a masked_fill_, and as one of the device for any other. Its kernel would
// have the host count the elements of the mask; where() needs no count.
#include <ATen/MemoryOverlap.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/TensorAdvancedIndexingUtils.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_put_native.h>
#include <ATen/ops/where.h>

#include "backend_template/ops/in_place/twin_target.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"
#include "backend_template/ops/tensors/tensor_fields.h"

namespace outback::ops {
namespace {

using index_list = c10::List<std::optional<at::Tensor>>;

// Returns the mask, with the dimensions of `self`, if the assignment is one of one number by a
// mask.
at::Tensor mask_of(const at::Tensor& self, const index_list& indices, const at::Tensor& value) {
  const bool is_number = value.dim() == 0 && value.scalar_type() == self.scalar_type() &&
                         value.device() == self.device() &&
                         at::has_internal_overlap(self) != at::MemOverlap::Yes;
  if (!is_number) return {};
  const at::Tensor on_cpu = at::empty({}, value.options().device(c10::kCPU));  // is not read
  const auto [is_mask, mask] = at::native::canDispatchToMaskedFill(self, indices, on_cpu);
  return is_mask && mask.scalar_type() == c10::kBool ? mask : at::Tensor();
}

at::Tensor& index_put_(at::Tensor& self, const index_list& indices, const at::Tensor& values,
                       bool accumulate) {
  if (self.device().is_cpu() && is_ours(values) && values.dim() == 0) {
    return at::native::index_put_(self, indices, values.to(c10::kCPU), accumulate);
  }
  if (has_twin(self) && !accumulate) {
    const at::Tensor mask = mask_of(self, indices, values);
    if (mask.defined()) return at::where_out(self, mask, values, self);
  }
  return at::native::index_put_(self, indices, values, accumulate);
}

}  // namespace

void register_masked_assignment(registrar& to) {
  to.add<&index_put_>("index_put_");
}

}  // namespace outback::ops
