#include "backend_template/runtimes/level_zero/device.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>

#include "backend_template/runtimes/level_zero/result.hpp"
#include "outback/runtime_error.hpp"

namespace outback::level_zero {
namespace {

// So many idle lists of each priority are kept for new streams, beside the one that was destroyed
// last.
constexpr int spare_lists = 1;

ze_command_queue_priority_t driver_priority(int32_t priority) {
  if (priority < 0) return ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH;
  return priority > 0 ? ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW : ZE_COMMAND_QUEUE_PRIORITY_NORMAL;
}

}  // namespace

ze_context_handle_t device::context() {
  const ze_context_handle_t there = driver_.context();
  active_.store(true, std::memory_order_relaxed);
  return there;
}

bool device::gone() const noexcept {
  const ze_result_t now = driver_.api().zeDeviceGetStatus(handle_);
  return now == ZE_RESULT_ERROR_DEVICE_LOST || now == ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET;
}

std::shared_ptr<command_queue> device::new_queue(int32_t priority) {
  const device_facts& known = facts();
  const bool in_order = driver_.keeps_order();
  ze_command_queue_desc_t desc = {};
  desc.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
  desc.ordinal = known.ordinal;
  // The group's hardware queues take turns, so that streams can run at the same time.
  desc.index = next_index_.fetch_add(1, std::memory_order_relaxed) % known.queues;
  desc.flags = in_order ? newer::queue_in_order : 0;
  desc.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
  desc.priority = driver_priority(priority);
  ze_command_list_handle_t list = nullptr;
  call(driver_.api().zeCommandListCreateImmediate, context(), handle_, &desc, &list);
  return std::make_shared<command_queue>(
      driver_, list, in_order ? command_queue::order::by_list : command_queue::order::by_barriers,
      false);
}

std::shared_ptr<command_queue> device::made_once(std::shared_ptr<command_queue>& place) {
  const std::lock_guard lock(mutex_);
  if (place == nullptr) place = new_queue(0);
  return place;
}

command_queue& device::default_queue() {
  if (command_queue* const there = default_queue_.load(std::memory_order_acquire)) return *there;
  const auto made = made_once(default_);
  default_queue_.store(made.get(), std::memory_order_release);
  return *made;
}

command_queue& device::transfer_queue() {
  return *made_once(transfer_);
}

std::shared_ptr<command_queue> device::idle_queue(int32_t priority) {
  for (auto it = retired_.begin(); it != retired_.end(); ++it) {
    if (it->work->foreign() || it->priority != priority) continue;
    if (!it->idle()) continue;
    auto found = std::move(it->work);
    found->reclaim();
    retired_.erase(it);
    return found;
  }
  return nullptr;
}

std::vector<std::shared_ptr<command_queue>> device::surplus_queues() {
  std::vector<std::shared_ptr<command_queue>> surplus;
  std::array<int, least_priority - greatest_priority + 1> kept = {};
  const auto over = [](const retired& each) {
    try {
      return each.idle();
    } catch (const runtime_error&) {
      return false;  // the stream that is destroyed now has nothing to do with it
    }
  };
  std::erase_if(retired_, [&](retired& each) {
    if (!over(each)) return false;
    int& kept_of_its_kind = kept[std::size_t(each.priority - greatest_priority)];
    if (!each.work->foreign() && kept_of_its_kind++ < spare_lists) return false;
    surplus.push_back(each.work);
    return true;
  });
  return surplus;
}

stream* device::create_stream(int32_t priority) {
  priority = std::clamp(priority, greatest_priority, least_priority);
  const std::lock_guard lock(mutex_);
  auto work = idle_queue(priority);
  if (work == nullptr) work = new_queue(priority);
  streams_.push_back({std::make_unique<stream>(stream{index_, std::move(work)}), priority});
  return streams_.back().handle.get();
}

stream* device::wrap_stream(ze_command_list_handle_t handle) {
  if (handle == nullptr) throw invalid_argument("handle is null: a command list was expected");
  const std::lock_guard lock(mutex_);
  std::shared_ptr<command_queue> work;
  int32_t priority = 0;
  if (default_ != nullptr && default_->list() == handle) work = default_;
  for (const entry& each : streams_) {
    // The list is ours: the new stream is another handle of the same queue, so that the queue still
    // knows all that is in the list.
    if (each.handle->work->list() != handle) continue;
    work = each.handle->work;
    priority = each.priority;
  }
  if (work == nullptr) {
    // API 1.4 has no call that tells whether somebody else's list has the in-order flag. Barriers
    // are right for both kinds.
    work =
        std::make_shared<command_queue>(driver_, handle, command_queue::order::by_barriers, true);
  }
  streams_.push_back({std::make_unique<stream>(stream{index_, std::move(work)}), priority});
  return streams_.back().handle.get();
}

void device::destroy_stream(const stream* given) {
  std::vector<std::shared_ptr<command_queue>> surplus;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(streams_.begin(), streams_.end(),
                                  [&](const entry& each) { return each.handle.get() == given; });
  if (found == streams_.end()) {
    throw invalid_argument("the stream is not one that device " + std::to_string(index_) +
                           " created: destroyed already, or of another device");
  }
  const std::shared_ptr<command_queue> work = found->handle->work;
  const int32_t priority = found->priority;
  const bool in_use =
      work == default_ || std::any_of(streams_.begin(), streams_.end(), [&](const entry& each) {
        return each.handle.get() != given && each.handle->work == work;
      });
  retired_.reserve(retired_.size() + 1);
  streams_.erase(found);  // whatever fails below, the stream is gone
  if (in_use) return;
  surplus = surplus_queues();
  event_ref last;
  try {
    // Nothing of ours touches the list behind this event. Once the event is complete, the list may
    // be used again or destroyed, by us or by the owner of a foreign one.
    last = work->close_off();
  } catch (...) {
    // The list may be busy still. Our own is asked later whether it is idle. A foreign one may be
    // gone by then, so nothing touches it, nor what its last commands use.
    if (work->foreign()) {
      abandoned_.push_back(work);
    } else {
      retired_.push_back({work, event_ref(), priority});
    }
    throw;
  }
  if (last || !work->foreign()) retired_.push_back({work, std::move(last), priority});
}

device::work device::enqueued() {
  work all;
  const std::lock_guard lock(mutex_);
  if (default_ != nullptr) all.queues.push_back(default_);
  for (const entry& each : streams_) all.queues.push_back(each.handle->work);
  for (const retired& each : retired_) {
    if (each.last) all.last.push_back(each.last);
    if (!each.last) all.queues.push_back(each.work);
  }
  return all;
}

void device::sync() {
  std::vector<kept> unused;  // destroyed after the lock is released
  {
    const std::lock_guard lock(mutex_);
    // Nobody knows whether an abandoned queue still uses one of them.
    if (abandoned_.empty()) unused.swap(kept_);
  }
  try {
    const work all = enqueued();
    // Without the lock: waiting may take long, and other threads make streams meanwhile.
    for (const auto& each : all.queues) each->sync();
    for (const auto& signal : all.last) signal.wait();
  } catch (...) {
    for (kept& each : unused) keep(std::move(each));
    throw;
  }
}

bool device::kept::done() const {
  try {
    return is_known && std::all_of(until.begin(), until.end(),
                                   [](const event_ref& each) { return each.complete(); });
  } catch (const runtime_error&) {
    return false;  // the call that looks has nothing to do with it
  }
}

void device::keep(kept one) {
  const std::lock_guard lock(mutex_);
  kept_.push_back(std::move(one));
}

void device::destroy_when_done(std::unique_ptr<in_use_object> object) {
  release_done();
  kept one{std::move(object), {}, false};
  try {
    const work all = enqueued();
    for (const auto& each : all.queues) {
      if (event_ref last = each->pending()) one.until.push_back(std::move(last));
    }
    for (const event_ref& each : all.last) {
      if (!each.complete()) one.until.push_back(each);
    }
    one.is_known = true;
  } catch (...) {
    keep(std::move(one));
    throw;
  }
  keep(std::move(one));
  release_done();
}

void device::release_done() {
  std::vector<kept> unused;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  if (!abandoned_.empty()) return;
  const auto first = std::stable_partition(kept_.begin(), kept_.end(),
                                           [](const kept& each) { return !each.done(); });
  unused.assign(std::make_move_iterator(first), std::make_move_iterator(kept_.end()));
  kept_.erase(first, kept_.end());
}

}  // namespace outback::level_zero
