#include "backend_template/distributed/twin_group.h"

#include <c10/util/Exception.h>
#include <unistd.h>

#include <tuple>
#include <utility>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/runtime/interpreter_lock.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/twin/twin.h"
#include "backend_template/distributed/nccl/checks.h"
#include "backend_template/distributed/nccl/work.h"

namespace outback::distributed {
namespace {

c10::Device twin_device(c10::Device device) {
  const auto twin = core::twin_of(device.index());
  TORCH_CHECK_VALUE(twin.has_value(), device,
                    " shares no memory with a device of CUDA's, for "
                    "which NCCL communicates");
  return *twin;
}

}  // namespace

twin_group::twin_group(c10::intrusive_ptr<c10d::Backend> transport, std::string name,
                       std::chrono::milliseconds timeout, twin_options_maker make_options)
    : Backend(transport->getRank(), transport->getSize()),
      transport_(std::move(transport)),
      options_(c10::make_intrusive<group_options>(timeout)),
      make_options_(make_options),
      process_(getpid()) {
  options_->group_name = std::move(name);
  init();
}

twin_group::~twin_group() {
  end();
}

void twin_group::release_resources() {
  end();
}

void twin_group::end() noexcept {
  if (transport_ == nullptr) return;
  const core::without_interpreter_lock while_it_waits;
  if (process_ == getpid()) {
    transport_.reset();
  } else {
    std::ignore = transport_.release();  // a forked child has none of its threads
  }
}

c10::intrusive_ptr<c10d::Backend> twin_group::split(const c10::intrusive_ptr<c10d::Store>& store,
                                                    const std::vector<int>& ranks,
                                                    const c10::intrusive_ptr<Options>& options) {
  auto part = transport_->split(store, ranks, make_options_(transport_, *options));
  if (part == nullptr) return nullptr;
  auto made = c10::make_intrusive<twin_group>(std::move(part), options->group_name,
                                              options->timeout, make_options_);
  made->setBoundDeviceId(getBoundDeviceId());
  return made;
}

void twin_group::setTimeout(std::chrono::milliseconds timeout) {
  options_->timeout = timeout;
  transport_->setTimeout(timeout);
}

void twin_group::eagerConnectSingleDevice(at::Device device) {
  setBoundDeviceId(device);
  const c10::Device twin = twin_device(device);
  transport_->setBoundDeviceId(twin);
  const core::without_interpreter_lock while_it_waits;
  transport_->eagerConnectSingleDevice(twin);
}

void twin_group::abort() {
  const core::without_interpreter_lock while_it_waits;
  transport_->abort();
}

void twin_group::shutdown() {
  const core::without_interpreter_lock while_it_waits;
  transport_->shutdown();
}

twin_group::work twin_group::endCoalescing() {
  operation what = named("coalesced operations", c10d::OpType::COALESCED);
  const auto bound = getBoundDeviceId();
  const c10::Device device(core::device_type, core::current_device());
  return wrapped(std::move(what), transport_->endCoalescing(), bound ? *bound : device, {});
}

operation twin_group::named(const char* name, c10d::OpType type) const {
  operation what = operation_of(*this, *options_, name, type);
  if (process_ != getpid()) std::rethrow_exception(what.failed(std::string(in_a_fork)));
  return what;
}

twin_group::work twin_group::wrapped(operation what, work theirs, c10::Device device,
                                     tensor_lists outputs) {
  if (theirs == nullptr) return nullptr;
  return c10::make_intrusive<twin_work>(std::move(what), std::move(theirs), device,
                                        std::move(outputs));
}

// ---- What has no tensors, and what NCCL does not have

twin_group::work twin_group::barrier(const c10d::BarrierOptions& options) {
  operation what = named("barrier", c10d::OpType::BARRIER);
  c10::Device device(core::device_type, core::current_device());
  if (options.device && options.device->type() == core::device_type && options.device->has_index())
    device = *options.device;
  if (const auto bound = getBoundDeviceId()) device = *bound;
  c10d::BarrierOptions theirs = options;
  theirs.device = twin_device(device);
  theirs.device_ids.clear();
  return wrapped(std::move(what), transport_->barrier(theirs), device, {});
}

void twin_group::monitoredBarrier(const c10d::BarrierOptions&, bool) {
  refuse_absent(named("monitored_barrier", c10d::OpType::BARRIER),
                "call it of a group of the CPU's, over Gloo");
}

twin_group::work twin_group::allreduce_sparse(tensors&, const c10d::AllreduceOptions&) {
  refuse_absent(named("all_reduce of sparse tensors", c10d::OpType::_ALLREDUCE_SPARSE),
                "pass tensor.to_dense()");
}

twin_group::work twin_group::allgather_coalesced(tensor_lists&, tensors&,
                                                 const c10d::AllgatherOptions&) {
  refuse_absent(named("all_gather_coalesced", c10d::OpType::ALLGATHER_COALESCED),
                "call all_gather for each tensor");
}

twin_group::work twin_group::recvAnysource(tensors&, int) {
  refuse_absent(named("recv from any rank", c10d::OpType::RECVANYSOURCE), "name the source");
}

}  // namespace outback::distributed
