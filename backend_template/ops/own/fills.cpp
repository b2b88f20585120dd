// fill_ and zero_. Where the CPU's kernels run in place, the CPU fills, except for a large zero_,
// which the runtime's slot mem_fill does on the stream. That slot fills memory apart if it takes
// the pattern. On a device with a twin the twin's kernels fill.
#include <ATen/EmptyTensor.h>
#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/Fill.h>
#include <ATen/ops/fill.h>
#include <ATen/ops/fill_ops.h>
#include <ATen/ops/zero.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "backend_template/core/memory/copy.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/ops/in_place/kernel_call.h"
#include "backend_template/ops/in_place/unboxed_kernel.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"
#include "backend_template/ops/tensors/small_copy.h"
#include "backend_template/ops/tensors/tensor_fields.h"

namespace outback::ops {
namespace {

bool zero_dense(const at::Tensor& self) {
  if (!self.is_non_overlapping_and_dense() || has_twin(self)) return false;
  const c10::DeviceIndex index = self.device().index();
  const size_t size = static_cast<size_t>(self.numel()) * self.itemsize();
  const bool cpu_is_faster = core::runs_cpu_kernels(index) && size <= too_small_for_a_stream &&
                             core::is_done(core::current_stream(index));
  if (cpu_is_faster) {
    std::memset(self.mutable_data_ptr(), 0, size);
  } else {
    const uint8_t zero = 0;
    core::fill_bytes(self.mutable_data_ptr(), index, size, &zero, sizeof zero);
  }
  return true;
}

at::Tensor& zero_(at::Tensor& self) {
  if (self.numel() == 0 || zero_dense(self)) return self;
  kernel_call call;
  const at::Tensor lent = call.lend(self, access::overwrite);
  call.begin();
  // On a twin, for tensors with gaps, and for special layouts.
  call.run({"aten::zero_"}, [&] { lent.zero_(); });
  call.finish();
  return self;
}

template <class Element>
bool fill_one(const at::Tensor& self, const at::Scalar& value) {
  *self.mutable_data_ptr<Element>() = value.to<Element>();
  return true;
}

// Fills a tensor of one element without a TensorIterator, for the dtypes that are common.
bool fill_single(const at::Tensor& self, const at::Scalar& value) {
  switch (self.scalar_type()) {
    case c10::kFloat:
      return fill_one<float>(self, value);
    case c10::kDouble:
      return fill_one<double>(self, value);
    case c10::kLong:
      return fill_one<int64_t>(self, value);
    case c10::kBool:
      return fill_one<bool>(self, value);
    default:
      return false;
  }
}

// Fills memory apart with the runtime's slot mem_fill, which takes patterns of up to 8 bytes. False
// if it cannot: then the CPU fills a stage. False on a twin, which has a kernel.
bool fill_dense(const at::Tensor& self, const at::Scalar& value) {
  constexpr size_t longest_pattern = 8;
  if (has_twin(self)) return false;
  if (!self.is_non_overlapping_and_dense() || self.itemsize() > longest_pattern) return false;
  // The CPU's fill_ makes the pattern, so that a value that overflows is refused as on the CPU. It
  // is stricter for several elements than for one, so the pattern has as many as matter: two.
  at::Tensor pattern =
      at::detail::empty_cpu(std::min<int64_t>(self.numel(), 2), self.scalar_type());
  pattern.fill_(value);
  if (self.numel() == 0) return true;
  core::fill_bytes(self.mutable_data_ptr(), self.device().index(), self.nbytes(),
                   pattern.const_data_ptr(), self.itemsize());
  return true;
}

at::Tensor& fill_(at::Tensor& self, const at::Scalar& value) {
  const c10::DeviceIndex index = self.device().index();
  const bool is_for_loops =
      is_plain(*self.unsafeGetTensorImpl()) && !self.is_conj() && !self.is_neg();
  const bool runs_loops = core::runs_cpu_kernels(index);
  if (is_for_loops && !runs_loops && fill_dense(self, value)) return self;
  if (!is_for_loops || !runs_loops) {
    return unboxed_kernel<at::_ops::fill__Scalar>::run(self, value);
  }
  core::drain(index);
  if (self.numel() == 1) {
    if (fill_single(self, value)) return self;
    return unboxed_kernel<at::_ops::fill__Scalar>::run(self, value);
  }
  // The same configuration as the CPU's fill_, which allows tensors that overlap themselves.
  at::TensorIterator elements = at::TensorIteratorConfig()
                                    .set_check_mem_overlap(false)
                                    .check_all_same_dtype(false)
                                    .add_output(self)
                                    .resize_outputs(false)
                                    .build();
  at::native::fill_stub(c10::kCPU, elements, value);
  return self;
}

}  // namespace

void register_fills(registrar& to) {
  to.add<&zero_>("zero_");
  to.add<&fill_>("fill_", "Scalar");
}

}  // namespace outback::ops
