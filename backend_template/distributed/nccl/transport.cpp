#include "backend_template/distributed/nccl/transport.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <unistd.h>

#include <tuple>
#include <utility>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/runtime/interpreter_lock.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/distributed/nccl/checks.h"
#include "backend_template/distributed/nccl/loans.h"
#include "backend_template/distributed/nccl/work.h"

namespace outback::distributed {
namespace {

// Null where NCCL returns nothing: the operation is over, or its caller does not ask.
work wrapped(operation what, work theirs, c10::Device device, tensor_lists outputs) {
  if (theirs == nullptr) return nullptr;
  return c10::make_intrusive<nccl_work>(std::move(what), std::move(theirs), device,
                                        std::move(outputs));
}

}  // namespace

nccl_transport::nccl_transport(c10::intrusive_ptr<c10d::Backend> nccl,
                               nccl_options_maker make_options)
    : transport(nccl->getRank(), nccl->getSize()),
      nccl_(std::move(nccl)),
      make_options_(make_options),
      process_(getpid()) {}

nccl_transport::~nccl_transport() {
  const core::without_interpreter_lock while_it_waits;
  if (process_ == getpid()) {
    nccl_.reset();
  } else {
    std::ignore = nccl_.release();  // a forked child has none of its threads
  }
}

std::unique_ptr<transport> nccl_transport::split(const c10::intrusive_ptr<c10d::Store>& store,
                                                 const std::vector<int>& ranks,
                                                 const c10d::Backend::Options& options) {
  auto part = nccl_->split(store, ranks, make_options_(nccl_, options));
  if (part == nullptr) return nullptr;
  return std::make_unique<nccl_transport>(std::move(part), make_options_);
}

void nccl_transport::connect(c10::Device device) {
  const c10::Device twin = checked_twin(device);
  nccl_->setBoundDeviceId(twin);
  const core::without_interpreter_lock while_it_waits;
  nccl_->eagerConnectSingleDevice(twin);
}

void nccl_transport::abort() {
  const core::without_interpreter_lock while_it_waits;
  nccl_->abort();
}

void nccl_transport::shutdown() {
  const core::without_interpreter_lock while_it_waits;
  nccl_->shutdown();
}

// ---- How an operation runs

void nccl_transport::check(const collective& wanted, c10::Device device) const {
  checked_twin(device, &wanted.what);
  check_for_nccl(wanted);
}

// NCCL may refuse what it is given: then the exception is the caller's as it is.
work nccl_transport::begin(collective wanted, c10::Device device) {
  work theirs;
  try {
    // The loans are no views of the device's tensors for autograd, and nobody derives a transport.
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    lent_arguments with = lend_to_twin(wanted);
    with.device = checked_twin(device);
    theirs = wanted.call(*nccl_, with);
  } catch (const c10::DistBackendError&) {
    std::rethrow_exception(wanted.what.failed(std::current_exception()));
  }
  return wrapped(std::move(wanted.what), std::move(theirs), device, std::move(wanted.outputs));
}

work nccl_transport::begin_on_cpu(const collective& wanted) {
  refuse_cpu(wanted.what);
}

void nccl_transport::monitored_barrier(const operation& what, const c10d::BarrierOptions&, bool) {
  refuse_absent(what, "call it of a group of the CPU's, over Gloo");
}

work nccl_transport::end_coalescing(operation what, std::optional<c10::Device> bound) {
  const c10::Device current(core::device_type, core::current_device());
  return wrapped(std::move(what), nccl_->endCoalescing(), bound.value_or(current), {});
}

}  // namespace outback::distributed
