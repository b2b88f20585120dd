// copy_ and its relatives: within a device, across devices, to and from the host.
//
// If both sides have one layout, their bytes are copied: by core on a stream, in stream order and
// asynchronously where the caller asks for that, or on the calling thread where that is faster.
// Everything else (another dtype, other strides, broadcasting, conj and neg bits, overlap) goes
// through the CPU's copy kernel on both tensors. A twin copies all by itself.
#include <ATen/ExpandUtils.h>
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/copy.h>
#include <ATen/ops/resize.h>
#include <c10/util/Exception.h>

#include <cstddef>
#include <cstdint>

#include "backend_template/core/memory/copy.h"
#include "backend_template/core/operators/call_notes.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/core/streams/sync_debug.h"
#include "backend_template/ops/in_place/kernel_call.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"
#include "backend_template/ops/tensors/dimension_names.h"
#include "backend_template/ops/tensors/small_copy.h"
#include "backend_template/ops/tensors/tensor_fields.h"
#include "outback/detail/large_copy.hpp"

namespace outback::ops {
namespace {

// In bytes. What a thread is worth waking for.
constexpr int64_t share_of_a_thread = int64_t{256} << 10;
// In bytes. A copy to another device makes two streams wait for each other, which wakes a thread of
// each of them.
constexpr size_t too_small_for_two_streams = size_t{32} << 20;

// True if the CPU can use the tensor's memory at once.
bool is_idle_for_cpu(const at::Tensor& tensor) {
  if (!is_ours(tensor)) return true;
  const c10::DeviceIndex index = tensor.device().index();
  return core::runs_cpu_kernels(index) && core::is_done(core::current_stream(index));
}

// True if the CPU can use the tensor's memory once its stream is idle.
bool can_wait_for_cpu(const at::Tensor& tensor) {
  return tensor.device().is_cpu() ||
         (is_ours(tensor) && core::runs_cpu_kernels(tensor.device().index()));
}

// True if each side is one contiguous run of bytes, with the same elements in the same order.
bool is_alike(const at::Tensor& dst, const at::Tensor& src) {
  return dst.scalar_type() == src.scalar_type() && dst.sizes() == src.sizes() &&
         dst.is_conj() == src.is_conj() && dst.is_neg() == src.is_neg() &&
         ((dst.is_contiguous() && src.is_contiguous()) ||
          (dst.strides() == src.strides() && dst.is_non_overlapping_and_dense()));
}

bool bytes_overlap(const void* a, const void* b, size_t size) {
  const auto first = reinterpret_cast<uintptr_t>(a);
  const auto second = reinterpret_cast<uintptr_t>(b);
  return first < second + size && second < first + size;
}

// True if the copy goes on a stream: if the CPU cannot do it; within this backend, if it is large
// or would have to wait for earlier work; from and to the host, if the host need not wait
// (non_blocking with pinned memory).
bool belongs_on_stream(const at::Tensor& dst, const at::Tensor& src, size_t size,
                       bool non_blocking) {
  if (!can_wait_for_cpu(dst) || !can_wait_for_cpu(src)) return true;
  if (is_ours(dst) && is_ours(src)) {
    const bool is_small =
        size <= (dst.device() == src.device() ? too_small_for_a_stream : too_small_for_two_streams);
    return !is_small || !is_idle_for_cpu(dst) || !is_idle_for_cpu(src);
  }
  return non_blocking &&
         core::is_pinned(is_ours(dst) ? src.const_data_ptr() : dst.const_data_ptr());
}

void wait_for(const at::Tensor& tensor) {
  if (is_ours(tensor)) core::drain(tensor.device().index());
}

// For the operator report: bytes that the CPU moves itself, and no slot of the runtime's.
void note_moved(const at::Tensor& dst, const at::Tensor& src) {
  core::note_moved(is_ours(dst), is_ours(src), static_cast<size_t>(dst.numel()) * dst.itemsize());
}

// Uses all threads that the CPU's operators use, and gives each of them one long run, which then
// goes around the cache. The CPU's own copy kernel has short runs, which do not.
void copy_on_threads(void* to, const void* from, size_t size) {
  at::parallel_for(
      0, static_cast<int64_t>(size), share_of_a_thread, [&](int64_t begin, int64_t end) {
        copy_memory(static_cast<std::byte*>(to) + begin,
                    static_cast<const std::byte*>(from) + begin, static_cast<size_t>(end - begin));
      });
}

// True if the bytes have been copied, or will be in stream order. False if the sides differ or
// overlap: then the CPU's kernel has to do it.
bool copy_alike(const at::Tensor& dst, const at::Tensor& src, bool non_blocking) {
  if (!is_alike(dst, src)) return false;
  const size_t size = static_cast<size_t>(dst.numel()) * dst.itemsize();
  const bool on_stream = belongs_on_stream(dst, src, size, non_blocking);
  const void* const from = src.const_data_ptr();
  void* const to = dst.mutable_data_ptr();
  if (dst.device() == src.device() && bytes_overlap(to, from, size)) return to == from;
  if (!on_stream) {
    wait_for(dst);
    wait_for(src);
    copy_on_threads(to, from, size);
    note_moved(dst, src);
    return true;
  }
  core::copy_bytes(to, dst.device(), from, src.device(), size, non_blocking);
  return true;
}

bool is_for_loops(const at::Tensor& tensor) {
  return is_plain(*tensor.unsafeGetTensorImpl()) && !has_names(tensor) && !tensor.is_conj() &&
         !tensor.is_neg() && can_wait_for_cpu(tensor);
}

// True if the CPU's copy_ has a faster way than its loop: for large matrices that are transposed,
// and between float and half precision.
bool is_worth_an_alias(const at::Tensor& dst, const at::Tensor& src) {
  constexpr int64_t large = 1024;  // elements
  return dst.numel() > large && (src.dim() == 2 || dst.scalar_type() != src.scalar_type());
}

// Runs the CPU's loop on both tensors as they are.
bool copy_without_alias(const at::Tensor& dst, const at::Tensor& src) {
  // The CPU's copy_ warns that it drops the imaginary part; the loop would do so silently.
  const bool loses_a_part = src.is_complex() && !dst.is_complex();
  if (loses_a_part || is_worth_an_alias(dst, src) || !is_for_loops(dst) || !is_for_loops(src)) {
    return false;
  }
  wait_for(dst);
  wait_for(src);
  copy_by_loop(dst, src);
  note_moved(dst, src);
  return true;
}

// By a kernel of the CPU's, or of a twin's.
void copy_by_kernel(const at::Tensor& dst, const at::Tensor& src, bool non_blocking) {
  kernel_call call(mixing::anything);
  at::Tensor to = call.lend(dst, access::overwrite);
  const at::Tensor from = call.lend(src);
  call.begin();
  call.run({"aten::copy_"}, [&] { to.copy_(from, non_blocking); });
  call.finish();
}

// A copy that a twin takes part in: to or from a device that has one, or PyTorch's own device
// itself. The twin's copy_ does what it does between its own tensors and the CPU's.
at::Tensor& copy_by_twin(at::Tensor& self, const at::Tensor& src, bool non_blocking) {
  if (is_ours(self) && is_ours(src) && has_twin(self) != has_twin(src)) {
    return self.copy_(src.to(c10::kCPU));  // no kernel reaches both
  }
  copy_by_kernel(self, src, non_blocking);
  return self;
}

bool is_of_twins(const at::Tensor& tensor) {
  return is_ours(tensor) ? has_twin(tensor) : tensor.device().type() == core::known_twin_type();
}

at::Tensor& copy_(at::Tensor& self, const at::Tensor& src, bool non_blocking) {
  TORCH_CHECK(self.defined() && src.defined(), "copy_: a tensor is undefined");
  if (self.is_same(src)) return self;
  TORCH_CHECK(!self._is_zerotensor(),
              "ZeroTensors are immutable. Please materialize the tensor using "
              "`.clone()`, if you want a mutable zero tensor.");
  if (src._is_zerotensor()) return self.zero_();
  const at::Device other = is_ours(self) ? src.device() : self.device();
  TORCH_CHECK_NOT_IMPLEMENTED(is_ours(self) || is_ours(src), "copy_: no tensor of this device");
  const bool for_cpu = can_wait_for_cpu(self) && can_wait_for_cpu(src);
  TORCH_CHECK_NOT_IMPLEMENTED(other.is_cpu() || other.type() == core::device_type ||
                                  other.type() == core::known_twin_type(),
                              "copy_: cannot copy from ", src.device(), " to ", self.device());
  const bool leaves_device = is_ours(self) != is_ours(src);
  if (leaves_device && !non_blocking && self.numel() != 0) core::note_synchronizing();
  if (C10_UNLIKELY(!for_cpu) && (is_of_twins(self) || is_of_twins(src))) {
    return copy_by_twin(self, src, non_blocking);
  }
  const bool are_bytes = is_plain(*self.unsafeGetTensorImpl()) &&
                         is_plain(*src.unsafeGetTensorImpl()) && !has_names(self) &&
                         !has_names(src);
  if (are_bytes && self.numel() != 0 && copy_alike(self, src, non_blocking)) return self;
  if (copy_without_alias(self, src)) return self;
  copy_by_kernel(self, src, /*non_blocking=*/false);
  if (for_cpu) note_moved(self, src);
  return self;
}

at::Tensor copy_from(const at::Tensor& self, const at::Tensor& dst, bool non_blocking) {
  at::Tensor to = dst;
  copy_(to, self, non_blocking);
  return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& self, const at::Tensor& dst) {
  dst.resize_(self.sizes());
  return copy_from(self, dst, /*non_blocking=*/false);
}

}  // namespace

void register_copies(registrar& to) {
  to.add<&copy_>("copy_");
  to.add<&copy_from>("_copy_from");
  to.add<&copy_from>("_copy_from", "", c10::DispatchKey::QuantizedPrivateUse1);
  to.add<&copy_from_and_resize>("_copy_from_and_resize");
}

}  // namespace outback::ops
