#include "backend_template/distributed/process_group.h"

#include <c10/util/Exception.h>
#include <unistd.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include <algorithm>
#include <iterator>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "backend_template/core/runtime/interpreter_lock.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/distributed/gloo/idle_threads.h"
#include "backend_template/distributed/gloo/joint_work.h"

namespace outback::distributed {

namespace {

// Those that may be alive, for the end of the process. Leaked, as it comes after main().
struct registry {
  std::mutex mutex;
  std::vector<c10::weak_intrusive_ptr<process_group>> groups;
  std::atomic<pid_t> process{0};  // that made the last of them
};
registry& all_groups() {
  static auto& all = *new registry;
  return all;
}

}  // namespace

c10::intrusive_ptr<process_group> process_group::make(c10::intrusive_ptr<c10d::Backend> transport,
                                                      std::string name,
                                                      std::chrono::milliseconds timeout,
                                                      transport_maker make_transport) {
  auto made = c10::make_intrusive<process_group>(std::move(transport), std::move(name), timeout,
                                                 make_transport);
  registry& all = all_groups();
  decltype(all.groups) over;  // freed without the lock, as what they hold may want Python's
  const std::lock_guard lock(all.mutex);
  all.process.store(getpid(), std::memory_order_relaxed);
  const auto first_over = std::partition(all.groups.begin(), all.groups.end(),
                                         [](const auto& weak) { return !weak.expired(); });
  std::move(first_over, all.groups.end(), std::back_inserter(over));
  all.groups.erase(first_over, all.groups.end());
  all.groups.emplace_back(made);
  return made;
}

process_group::process_group(c10::intrusive_ptr<c10d::Backend> transport, std::string name,
                             std::chrono::milliseconds timeout, transport_maker make_transport)
    : Backend(transport->getRank(), transport->getSize()),
      transport_(std::move(transport)),
      options_(c10::make_intrusive<group_options>(timeout)),
      make_transport_(make_transport),
      process_(getpid()) {
  options_->group_name = std::move(name);
  init();
}

process_group::~process_group() {
  end();
}

void process_group::release_resources() {
  end();
}

void process_group::end() noexcept {
  if (transport_ == nullptr) return;
  // Gloo's destructor waits for its threads, which may have the last reference to a tensor of
  // Python's and want the lock for it.
  const core::without_interpreter_lock while_it_waits;
  issuer_.stop();
  // In a forked child there are no such threads, and after an abort they may wait for a process
  // that never comes. What is called back when an operation is over may hold the last reference to
  // the group: then one of them is the one that is here, and cannot wait for itself.
  if (process_ != getpid()) {
    std::ignore = transport_.release();
  } else if (aborted_ || is_gloos_thread()) {
    end_in_a_thread();
  } else {
    transport_.reset();
  }
}

void process_group::end_in_a_thread() noexcept {
  c10d::Backend* const ended = transport_.release();
  try {
    std::thread([ended] { c10::raw::intrusive_ptr::decref(ended); }).detach();
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch)
    // There is no thread to be had: the transport stays.
  }
}

c10::intrusive_ptr<c10d::Backend> process_group::split(const c10::intrusive_ptr<c10d::Store>& store,
                                                       const std::vector<int>& ranks,
                                                       const c10::intrusive_ptr<Options>& options) {
  const auto place = std::find(ranks.begin(), ranks.end(), getRank());
  if (place == ranks.end()) return nullptr;
  const int rank = static_cast<int>(place - ranks.begin());
  const int size = static_cast<int>(ranks.size());
  // The group's other devices may have a Gloo of their own, with the same keys in the same store.
  const auto keys = c10::make_intrusive<c10d::PrefixStore>(core::backend_name(), store);
  auto made = make(make_transport_(keys, rank, size, *options), options->group_name,
                   options->timeout, make_transport_);
  made->setBoundDeviceId(getBoundDeviceId());
  return made;
}

void process_group::setTimeout(std::chrono::milliseconds timeout) {
  options_->timeout = timeout;
  transport_->setTimeout(timeout);
}

uint64_t process_group::getSequenceNumberForGroup() {
  issuer_.wait_until_idle();
  return transport_->getSequenceNumberForGroup();
}

c10d::ErrorType process_group::getError() {
  return aborted_ ? c10d::ErrorType::COMM_ERROR : c10d::ErrorType::SUCCESS;
}

// ---- How an operation runs

operation process_group::named(const char* name, c10d::OpType type) const {
  operation what = operation_of(*this, *options_, name, type);
  check_usable(what);
  return what;
}

void process_group::check_usable(const operation& what) const {
  if (const char* why = unusable_.load(std::memory_order_acquire)) {
    std::rethrow_exception(what.failed(std::string(why)));
  }
  if (process_ != getpid()) {
    std::rethrow_exception(what.failed(std::string(in_a_fork)));
  }
}

process_group::work process_group::run(operation what, loans lent, tensor_lists outputs,
                                       on_transport call) {
  auto made =
      c10::make_intrusive<device_work>(std::move(what), std::move(lent), std::move(outputs));
  made->fetch();
  if (issuer_.is_idle() && made->may_begin_here()) {
    made->begin_here(call);
  } else {
    issuer_.enqueue([made, call = std::move(call)] { made->begin(call); });
  }
  keep(made);
  return made;
}

process_group::work process_group::on_cpu(const on_transport& call) {
  issuer_.wait_until_idle();
  work made = call();
  const std::lock_guard lock(mutex_);
  if (coalesced_) coalesced_->push_back(made);
  return made;
}

void process_group::keep(const c10::intrusive_ptr<pending_work>& made) {
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
  // An abort that came after `named` has not found it among those that are pending.
  if (aborted_) made->abort();
}

// ---- Coalescing

void process_group::startCoalescing() {
  const std::lock_guard lock(mutex_);
  // One that was left by an exception is over.
  coalesced_.emplace();
}

process_group::work process_group::endCoalescing() {
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

void process_group::abort() {
  aborted_ = true;
  unusable_.store("the group was aborted", std::memory_order_release);
  std::vector<c10::weak_intrusive_ptr<pending_work>> pending;
  {
    const std::lock_guard lock(mutex_);
    pending.swap(pending_);
  }
  for (const auto& weak : pending) {
    if (const auto each = weak.lock()) each->abort();
  }
  transport_->abort();
}

void process_group::shutdown() {
  const char* usable = nullptr;
  unusable_.compare_exchange_strong(usable, "the group was shut down");
  issuer_.stop();
  transport_->shutdown();
}

void process_group::leave_all(std::chrono::steady_clock::time_point deadline) noexcept {
  registry& all = all_groups();
  // A forked child has no operations, and another thread may have held the lock at the fork.
  if (all.process.load(std::memory_order_relaxed) != getpid()) return;
  std::vector<c10::weak_intrusive_ptr<process_group>> groups;
  {
    const std::lock_guard lock(all.mutex);
    groups.swap(all.groups);
  }
  for (const auto& weak : groups) {
    if (const auto group = weak.lock()) group->leave(deadline);
  }
  const core::without_interpreter_lock while_it_waits;
  await_idle_threads(deadline);
}

void process_group::leave(std::chrono::steady_clock::time_point deadline) noexcept {
  if (process_ != getpid()) return;
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
  if (!is_over) c10::raw::intrusive_ptr::incref(this);
}

}  // namespace outback::distributed
