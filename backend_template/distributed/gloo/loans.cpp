#include "backend_template/distributed/gloo/loans.h"

#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>

#include <utility>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/memory/copy.h"
#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/core/memory/host_allocator.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/ops/in_place/alias.h"

namespace outback::distributed {
namespace {

size_t bytes_of(const at::Tensor& tensor) {
  return static_cast<size_t>(tensor.numel()) * tensor.element_size();
}

// A plain tensor with a version counter of its own: the transport's threads may run torch's copy_
// on it, which the counter of the device's tensor must not see.
at::Tensor make_host_tensor(c10::DataPtr&& memory, const at::Tensor& like, form as) {
  const c10::InferenceMode plain(false);
  auto storage = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), static_cast<int64_t>(bytes_of(like)), std::move(memory),
      /*allocator=*/nullptr, /*resizable=*/false);
  const bool is_split = as == form::numbers && like.is_complex();
  const caffe2::TypeMeta dtype =
      as == form::bytes ? caffe2::TypeMeta::Make<uint8_t>()
      : is_split        ? c10::scalarTypeToTypeMeta(c10::toRealValueType(like.scalar_type()))
                        : like.dtype();
  auto made = c10::make_intrusive<c10::TensorImpl>(
      c10::Storage(std::move(storage)), c10::DispatchKeySet(c10::DispatchKey::CPU), dtype);
  if (as == form::bytes) {
    const int64_t rows = like.dim() == 0 ? 1 : like.size(0);
    const int64_t row = rows == 0 ? 0 : static_cast<int64_t>(bytes_of(like)) / rows;
    made->set_sizes_contiguous({rows, row});
  } else if (is_split) {
    std::vector<int64_t> sizes = like.sizes().vec(), strides = like.strides().vec();
    for (int64_t& each : strides) each *= 2;
    sizes.push_back(2);
    strides.push_back(1);
    made->set_sizes_and_strides(sizes, strides);
  } else {
    made->set_sizes_and_strides(like.sizes(), like.strides());
  }
  return at::Tensor(std::move(made));
}

}  // namespace

loans::loans(lanes_of_devices& all, c10::Device device)
    : device_(device),
      in_place_(core::is_host_addressable(device.index())),
      lanes_(all.of(device.index())) {
  TORCH_CHECK(core::capture_status(core::current_stream(device.index())) == OUTBACK_CAPTURE_NONE,
              core::backend_name(), ": the current stream of ", device,
              " is captured for a graph, and communication between processes cannot be: call it "
              "before the capture begins or after it ends");
}

c10::DataPtr loans::memory_for(const at::Tensor& tensor, size_t size) {
  if (in_place_) {
    return ops::own_memory(*tensor.storage().unsafeGetStorageImpl(), tensor.data_ptr(),
                           c10::DeviceType::CPU);
  }
  return size == 0 ? c10::DataPtr(nullptr, c10::DeviceType::CPU)
                   : core::host_allocator().allocate(size);
}

at::Tensor loans::lend(const at::Tensor& tensor, use how, form as) {
  at::Tensor host = make_host_tensor(memory_for(tensor, bytes_of(tensor)), tensor, as);
  reads_ = reads_ || how != use::written;
  loans_.push_back({tensor, host, how});
  return host;
}

std::vector<at::Tensor> loans::lend(at::TensorList tensors, use how, form as) {
  std::vector<at::Tensor> lent;
  lent.reserve(tensors.size());
  for (const at::Tensor& each : tensors) lent.push_back(lend(each, how, as));
  return lent;
}

void loans::fetch() {
  const c10::Stream current = core::current_stream(device_.index());
  if (!core::is_idle(current)) ready_.emplace().record(current);
  if (core::race_finder* const finder = core::active_race_finder()) {
    called_ = finder->record(current);
  }
  if (in_place_) return;
  for (const loan& each : loans_) {
    const c10::DataPtr& memory = each.device.storage().data_ptr();
    if (each.how != use::written) core::device_allocator().recordStream(memory, lanes_.away);
    if (each.how != use::read) core::device_allocator().recordStream(memory, lanes_.back);
  }
  if (!reads_) return;
  if (ready_) ready_->block(lanes_.away);
  const on_stream away(lanes_.away);
  for (const loan& each : loans_) {
    if (each.how == use::written) continue;
    core::copy_bytes(each.host.data_ptr(), c10::DeviceType::CPU, each.device.data_ptr(), device_,
                     bytes_of(each.device), /*non_blocking=*/true);
  }
  fetched_.emplace().record(lanes_.away);
}

bool loans::is_fetched() const {
  if (fetched_) return fetched_->query();
  // What is only written needs no wait here: the copies back are ordered behind `ready_`.
  const bool must_wait = ready_ && (in_place_ || loans_.empty());
  return !must_wait || ready_->query();
}

void loans::wait_until_fetched() const {
  if (fetched_) return fetched_->synchronize();
  if (ready_ && (in_place_ || loans_.empty())) ready_->synchronize();
}

void loans::give_back() {
  std::vector<loan> over = std::exchange(loans_, {});
  // The CPU has moved it, behind what was enqueued before the call.
  core::race_finder* const finder = core::active_race_finder();
  if (finder != nullptr && called_ != nullptr) finder->wait(lanes_.back, *called_);
  if (in_place_) return;
  const on_stream back(lanes_.back);
  bool enqueued = false;
  for (const loan& each : over) {
    if (each.how == use::read || each.device.numel() == 0) continue;
    if (!enqueued && ready_) ready_->block(lanes_.back);
    enqueued = true;
    core::copy_bytes(each.device.data_ptr(), device_, each.host.data_ptr(), c10::DeviceType::CPU,
                     bytes_of(each.device), /*non_blocking=*/true);
  }
  if (enqueued) returned_.record(lanes_.back);
}

void loans::order() const {
  const c10::Stream waiting = core::current_stream(device_.index());
  // The result is behind what was enqueued before the call, also where the CPU moved it.
  core::race_finder* const finder = core::active_race_finder();
  if (finder != nullptr && called_ != nullptr) finder->wait(waiting, *called_);
  if (returned_.device() >= 0) returned_.block(waiting);
}

}  // namespace outback::distributed
