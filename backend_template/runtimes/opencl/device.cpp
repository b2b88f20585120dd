#include "backend_template/runtimes/opencl/device.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "backend_template/runtimes/opencl/result.hpp"
#include "outback/runtime_error.hpp"

namespace outback::opencl {
namespace {

// So many idle queues of destroyed streams are kept for new streams.
constexpr int spare_queues = 2;

bool is_idle(command_queue& queue) {
  try {
    return queue.idle();
  } catch (const runtime_error&) {
    return false;  // device_sync tells
  }
}

}  // namespace

cl_context device::context() {
  const cl_context there = driver_.context();
  active_.store(true, std::memory_order_relaxed);
  return there;
}

std::shared_ptr<command_queue> device::new_queue(int32_t priority) {
  const cl_uint urgency = priority < 0   ? CL_QUEUE_PRIORITY_HIGH_KHR
                          : priority > 0 ? CL_QUEUE_PRIORITY_LOW_KHR
                                         : CL_QUEUE_PRIORITY_MED_KHR;
  // With profiling, because events with times may be recorded on any stream.
  const cl_queue_properties properties[] = {
      CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE,
      facts().has_priorities ? cl_queue_properties{CL_QUEUE_PRIORITY_KHR} : 0, urgency, 0};
  return std::make_shared<command_queue>(
      driver_, log_,
      make(driver_.api().clCreateCommandQueueWithProperties, context(), handle_,
           static_cast<const cl_queue_properties*>(properties)),
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
    if (it->work->foreign() || it->priority != priority || !is_idle(*it->work)) continue;
    auto found = std::move(it->work);
    found->reclaim();
    retired_.erase(it);
    return found;
  }
  return nullptr;
}

std::vector<std::shared_ptr<command_queue>> device::surplus_queues() {
  std::vector<std::shared_ptr<command_queue>> surplus;
  int kept = 0;
  std::erase_if(retired_, [&](retired& each) {
    if (!is_idle(*each.work)) return false;
    if (!each.work->foreign() && kept++ < spare_queues) return false;
    surplus.push_back(each.work);
    return true;
  });
  return surplus;
}

stream* device::add_stream(std::shared_ptr<command_queue> work, int32_t priority) {
  streams_.push_back({std::make_unique<stream>(stream{index_, std::move(work)}), priority});
  return streams_.back().handle.get();
}

stream* device::create_stream(int32_t priority) {
  priority = std::clamp(priority, greatest_priority(), least_priority());
  const std::lock_guard lock(mutex_);
  auto work = idle_queue(priority);
  if (work == nullptr) work = new_queue(priority);
  return add_stream(std::move(work), priority);
}

stream* device::wrap_stream(cl_command_queue handle) {
  if (handle == nullptr) throw invalid_argument("handle is null: a cl_command_queue was expected");
  const std::lock_guard lock(mutex_);
  if (default_ != nullptr && default_->handle() == handle) return add_stream(default_, 0);
  for (const entry& each : streams_) {
    // The queue is ours: the new stream is another handle of it, so that the queue still knows its
    // commands.
    if (each.handle->work->handle() == handle) return add_stream(each.handle->work, each.priority);
  }
  const auto& ask = driver_.api().clGetCommandQueueInfo;
  if (fact<cl_device_id>(ask, handle, CL_QUEUE_DEVICE) != handle_ ||
      fact<cl_context>(ask, handle, CL_QUEUE_CONTEXT) != context()) {
    throw invalid_argument("the cl_command_queue is not of device " + std::to_string(index_) +
                           " and of the context that native.context writes");
  }
  const auto properties = fact<cl_command_queue_properties>(ask, handle, CL_QUEUE_PROPERTIES);
  if ((properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0) {
    throw invalid_argument(
        "the cl_command_queue runs its commands out of order, and a stream "
        "keeps their order");
  }
  call(driver_.api().clRetainCommandQueue, handle);
  return add_stream(std::make_shared<command_queue>(driver_, log_, handle, true), 0);
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
  retired_.reserve(retired_.size() + 1);
  streams_.erase(found);
  const bool in_use =
      work == default_ || std::any_of(streams_.begin(), streams_.end(),
                                      [&](const entry& each) { return each.handle->work == work; });
  if (in_use) return;
  retired_.push_back({work, priority});
  surplus = surplus_queues();
  work->close_off();
}

std::vector<std::shared_ptr<command_queue>> device::all_queues() {
  std::vector<std::shared_ptr<command_queue>> all;
  const std::lock_guard lock(mutex_);
  if (default_ != nullptr) all.push_back(default_);
  for (const entry& each : streams_) all.push_back(each.handle->work);
  for (const retired& each : retired_) all.push_back(each.work);
  return all;
}

void device::sync() {
  // Without the lock: waiting may take long, and other threads make streams meanwhile.
  for (const auto& work : all_queues()) work->sync();
}

bool device::is_at_work() {
  const auto all = all_queues();
  return std::any_of(all.begin(), all.end(), [](const auto& work) { return work->is_at_work(); });
}

void device::record() {
  for (const auto& work : all_queues()) work->record();
}

int64_t device::now() {
  return clock_.now(driver_.api(), handle_, [this] { return transfer_queue().mark(); });
}

}  // namespace outback::opencl
