#include "backend_template/distributed/process_group.h"

#include <c10/util/Exception.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/distributed/checks.h"

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

c10::intrusive_ptr<process_group> process_group::make(std::unique_ptr<transport> through,
                                                      std::string name,
                                                      std::chrono::milliseconds timeout) {
  auto made = c10::make_intrusive<process_group>(std::move(through), std::move(name), timeout);
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

process_group::process_group(std::unique_ptr<transport> through, std::string name,
                             std::chrono::milliseconds timeout)
    : Backend(through->rank(), through->size()),
      transport_(std::move(through)),
      options_(c10::make_intrusive<group_options>(timeout)),
      process_(getpid()) {
  options_->group_name = std::move(name);
  init();
}

c10d::Backend& process_group::torchs() const {
  const auto backend = transport_->of_torch();
  TORCH_CHECK_NOT_IMPLEMENTED(backend != nullptr, core::backend_name(),
                              ": the group's transport does not have that");
  return *backend;
}

c10::intrusive_ptr<c10d::Backend> process_group::split(const c10::intrusive_ptr<c10d::Store>& store,
                                                       const std::vector<int>& ranks,
                                                       const c10::intrusive_ptr<Options>& options) {
  auto part = transport_->split(store, ranks, *options);
  if (part == nullptr) return nullptr;
  auto made = make(std::move(part), options->group_name, options->timeout);
  made->setBoundDeviceId(getBoundDeviceId());
  return made;
}

void process_group::setTimeout(std::chrono::milliseconds timeout) {
  options_->timeout = timeout;
  transport_->set_timeout(timeout);
}

void process_group::eagerConnectSingleDevice(at::Device device) {
  setBoundDeviceId(device);
  transport_->connect(device);
}

work process_group::endCoalescing() {
  return transport_->end_coalescing(
      operation_of(*this, *options_, "coalesced operations", c10d::OpType::COALESCED),
      getBoundDeviceId());
}

// ---- How an operation runs

operation process_group::named(const char* name, c10d::OpType type) const {
  operation what = operation_of(*this, *options_, name, type);
  if (const char* why = unusable_.load(std::memory_order_acquire)) {
    std::rethrow_exception(what.failed(std::string(why)));
  }
  if (process_ != getpid()) std::rethrow_exception(what.failed(std::string(in_a_fork)));
  return what;
}

work process_group::run(collective wanted) {
  const c10::Device device = checked_device(wanted, getBoundDeviceId());
  if (device.is_cpu()) return transport_->begin_on_cpu(wanted);
  check(wanted);
  transport_->check(wanted, device);
  return transport_->begin(std::move(wanted), device);
}

// ---- The end

void process_group::abort() {
  unusable_.store("the group was aborted", std::memory_order_release);
  transport_->abort();
}

void process_group::shutdown() {
  const char* usable = nullptr;
  unusable_.compare_exchange_strong(usable, "the group was shut down");
  transport_->shutdown();
}

bool process_group::leave_all(std::chrono::steady_clock::time_point deadline) noexcept {
  registry& all = all_groups();
  // A forked child has no operations, and another thread may have held the lock at the fork.
  if (all.process.load(std::memory_order_relaxed) != getpid()) return false;
  std::vector<c10::weak_intrusive_ptr<process_group>> groups;
  {
    const std::lock_guard lock(all.mutex);
    groups.swap(all.groups);
  }
  for (const auto& weak : groups) {
    const auto group = weak.lock();
    if (group == nullptr || group->process_ != getpid()) continue;
    if (!group->transport_->leave(deadline)) c10::raw::intrusive_ptr::incref(group.get());
  }
  return true;
}

}  // namespace outback::distributed
