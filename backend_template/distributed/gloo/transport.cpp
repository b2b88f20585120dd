#include "backend_template/distributed/gloo/transport.h"

#include <c10/util/Exception.h>
#include <unistd.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include <algorithm>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "backend_template/core/runtime/interpreter_lock.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/distributed/checks.h"
#include "backend_template/distributed/gloo/checks.h"
#include "backend_template/distributed/gloo/idle_threads.h"
#include "backend_template/distributed/gloo/joint_work.h"
#include "backend_template/distributed/gloo/pieces.h"
#include "backend_template/distributed/gloo/sparse_work.h"
#include "backend_template/distributed/gloo/work.h"

namespace outback::distributed {

gloo_transport::gloo_transport(c10::intrusive_ptr<c10d::Backend> gloo, gloo_maker make_gloo)
    : transport(gloo->getRank(), gloo->getSize()),
      gloo_(std::move(gloo)),
      make_gloo_(make_gloo),
      process_(getpid()) {}

gloo_transport::~gloo_transport() {
  // Gloo's destructor waits for its threads, which may have the last reference to a tensor of
  // Python's and want the lock for it.
  const core::without_interpreter_lock while_it_waits;
  issuer_.stop();
  // In a forked child there are no such threads, and after an abort they may wait for a process
  // that never comes. What is called back when an operation is over may hold the last reference to
  // the group: then one of them is the one that is here, and cannot wait for itself.
  if (process_ != getpid()) {
    std::ignore = gloo_.release();
  } else if (aborted_ || is_gloos_thread()) {
    end_in_a_thread();
  } else {
    gloo_.reset();
  }
}

void gloo_transport::end_in_a_thread() noexcept {
  c10d::Backend* const ended = gloo_.release();
  try {
    std::thread([ended] { c10::raw::intrusive_ptr::decref(ended); }).detach();
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch)
    // There is no thread to be had: Gloo stays.
  }
}

std::unique_ptr<transport> gloo_transport::split(const c10::intrusive_ptr<c10d::Store>& store,
                                                 const std::vector<int>& ranks,
                                                 const c10d::Backend::Options& options) {
  const auto place = std::find(ranks.begin(), ranks.end(), rank());
  if (place == ranks.end()) return nullptr;
  // The group's other devices may have a Gloo of their own, with the same keys in the same store.
  const auto keys = c10::make_intrusive<c10d::PrefixStore>(core::backend_name(), store);
  return std::make_unique<gloo_transport>(make_gloo_(keys, static_cast<int>(place - ranks.begin()),
                                                     static_cast<int>(ranks.size()), options),
                                          make_gloo_);
}

uint64_t gloo_transport::sequence_number() {
  issuer_.wait_until_idle();
  return gloo_->getSequenceNumberForGroup();
}

c10d::ErrorType gloo_transport::error() const {
  return aborted_ ? c10d::ErrorType::COMM_ERROR : c10d::ErrorType::SUCCESS;
}

// ---- How an operation runs

void gloo_transport::check(const collective& wanted, c10::Device /*device*/) const {
  check_for_gloo(wanted);
}

work gloo_transport::begin(collective wanted, c10::Device device) {
  if (wanted.what.type == c10d::OpType::_ALLREDUCE_SPARSE) return begin_sparse(wanted);
  if (wanted.what.type == c10d::OpType::ALLREDUCE && wanted.outputs[0].size() == 1) {
    const tensors pieces = pieces_of(wanted.outputs[0][0]);
    if (pieces.size() > 1) return begin_pieces(wanted, pieces);
  }
  return begin_lent(lend(wanted, device), wanted);
}

gloo_transport::lent_collective gloo_transport::lend(const collective& wanted, c10::Device device) {
  loans lent(lanes_, device);
  lent_arguments with = lent.lend(wanted);
  return {std::move(lent), std::move(with)};
}

work gloo_transport::begin_lent(lent_collective lent, const collective& wanted) {
  gloo_work::start call = [this, call = wanted.call, with = std::move(lent.with)]() mutable {
    return call(*gloo_, with);
  };
  auto made = c10::make_intrusive<gloo_work>(wanted.what, std::move(lent.of), wanted.outputs);
  made->fetch();
  if (issuer_.is_idle() && made->may_begin_here()) {
    made->begin_here(call);
  } else {
    issuer_.enqueue([made, call = std::move(call)] { made->begin(call); });
  }
  keep(made);
  return made;
}

work gloo_transport::begin_pieces(const collective& wanted, const tensors& pieces) {
  const c10::Device device = pieces[0].device();
  std::vector<collective> all(pieces.size(), wanted);
  // All are lent before the first begins: where memory is short, nothing has been sent.
  std::vector<lent_collective> lent;
  for (size_t i = 0; i < pieces.size(); ++i) {
    all[i].outputs = {{pieces[i]}};
    lent.push_back(lend(all[i], device));
  }
  joint_work::works parts;
  for (size_t i = 0; i < pieces.size(); ++i) {
    parts.push_back(begin_lent(std::move(lent[i]), all[i]));
  }
  return c10::make_intrusive<joint_work>(std::move(parts), rank(), wanted.what.type,
                                         wanted.outputs[0], lanes_.of(device.index()).back);
}

// Over copies on the CPU.
work gloo_transport::begin_sparse(const collective& wanted) {
  const at::Tensor& device = wanted.outputs[0][0];
  lent_arguments with{.outputs = {{device.cpu()}}, .reduction = *wanted.reduction};
  issuer_.wait_until_idle();
  auto made = c10::make_intrusive<sparse_work>(wanted.what, wanted.call(*gloo_, with),
                                               with.outputs[0][0], device);
  made->follow();
  keep(made);
  return made;
}

work gloo_transport::begin_on_cpu(const collective& wanted) {
  issuer_.wait_until_idle();
  lent_arguments with{wanted.outputs, wanted.inputs,
                      wanted.reduction.value_or(c10d::ReduceOp::SUM)};
  work made = wanted.call(*gloo_, with);
  const std::lock_guard lock(mutex_);
  if (coalesced_) coalesced_->push_back(made);
  return made;
}

void gloo_transport::monitored_barrier(const operation& what, const c10d::BarrierOptions& options,
                                       bool all_ranks) {
  issuer_.wait_until_idle();
  try {
    gloo_->monitoredBarrier(options, all_ranks);
  } catch (...) {
    std::rethrow_exception(what.failed(std::current_exception()));
  }
}

void gloo_transport::keep(const c10::intrusive_ptr<pending_work>& made) {
  std::vector<c10::intrusive_ptr<pending_work>> seen;  // one may end here, and not under the lock
  {
    const std::lock_guard lock(mutex_);
    if (coalesced_) coalesced_->push_back(made);
    // A power of two, so that looking through them costs each operation the same.
    const size_t count = pending_.size();
    if (count >= 16 && (count & (count - 1)) == 0) {
      std::erase_if(pending_, [&](const auto& weak) {
        const auto& kept = seen.emplace_back(weak.lock());
        return kept == nullptr || kept->isSuccess() || kept->exception() != nullptr;
      });
    }
    pending_.emplace_back(made);
  }
  // An abort that came after the group's check has not found it among those that are pending.
  if (aborted_) made->abort();
}

void gloo_transport::start_coalescing() {
  const std::lock_guard lock(mutex_);
  // One that was left by an exception is over.
  coalesced_.emplace();
}

work gloo_transport::end_coalescing(operation /*what*/, std::optional<c10::Device> /*bound*/) {
  std::optional<std::vector<work>> parts;
  {
    const std::lock_guard lock(mutex_);
    parts.swap(coalesced_);
  }
  TORCH_CHECK(parts.has_value(), core::backend_name(),
              ": endCoalescing was called without startCoalescing");
  return c10::make_intrusive<joint_work>(std::move(*parts));
}

// ---- The end

void gloo_transport::abort() {
  aborted_ = true;
  std::vector<c10::weak_intrusive_ptr<pending_work>> pending;
  {
    const std::lock_guard lock(mutex_);
    pending.swap(pending_);
  }
  for (const auto& weak : pending) {
    if (const auto each = weak.lock()) each->abort();
  }
  gloo_->abort();
}

void gloo_transport::shutdown() {
  issuer_.stop();
  gloo_->shutdown();
}

bool gloo_transport::leave(std::chrono::steady_clock::time_point deadline) noexcept {
  bool is_over = issuer_.leave(deadline);
  const core::without_interpreter_lock while_it_waits;
  std::vector<c10::weak_intrusive_ptr<pending_work>> pending;
  {
    const std::lock_guard lock(mutex_);
    pending.swap(pending_);
  }
  for (const auto& weak : pending) {
    const auto each = weak.lock();
    is_over = is_over && (each == nullptr || each->has_ended(deadline));
  }
  return is_over;
}

}  // namespace outback::distributed
