#include "backend_template/distributed/gloo/loans.h"

#include <ATen/core/CachingHostAllocator.h>
#include <c10/util/Exception.h>

#include <utility>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/memory/copy.h"
#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/core/memory/host_allocator.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/distributed/checks.h"
#include "backend_template/ops/in_place/alias.h"

namespace outback::distributed {
namespace {

size_t bytes_of(const at::Tensor& tensor) {
  return static_cast<size_t>(tensor.numel()) * tensor.element_size();
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
  at::Tensor host = lent_tensor(tensor, memory_for(tensor, bytes_of(tensor)), c10::DispatchKey::CPU,
                                as, has_dtype(tensor.scalar_type()));
  reads_ = reads_ || how != use::written;
  loans_.push_back({tensor, host, how});
  return host;
}

tensor_lists loans::lend(const tensor_lists& lists, use how, form as) {
  tensor_lists lent;
  for (const tensors& list : lists) {
    tensors& mine = lent.emplace_back();
    for (const at::Tensor& each : list) mine.push_back(lend(each, how, as));
  }
  return lent;
}

lent_arguments loans::lend(const collective& wanted) {
  const form as = form_of(wanted);
  lent_arguments lent{.inputs = lend(wanted.inputs, use::read, as)};
  lent.outputs = lend(wanted.outputs, wanted.of_outputs, as);
  if (wanted.reduction) lent.reduction = *wanted.reduction;
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
