#include "backend_template/runtimes/opencl/command_queue.hpp"

#include <chrono>
#include <limits>
#include <thread>
#include <utility>

#include "backend_template/runtimes/opencl/driver.hpp"
#include "backend_template/runtimes/opencl/host_thread.hpp"
#include "outback/runtime_error.hpp"

namespace outback::opencl {
namespace {

constexpr std::size_t all_of_them = std::numeric_limits<std::size_t>::max();
// So many commands are enqueued before the oldest ones are looked at, and so many are looked at
// then: more, so that their number shrinks when the device is faster than the host.
constexpr std::size_t commands_before_a_look = 16, most_looks = 32;

// In a queue that others use, our last command may not be the last one. So `idle` enqueues a mark,
// and gives an idle device this time to get to it.
constexpr std::chrono::milliseconds look_time{200};

std::string name_of(const work_note& note) {
  switch (note.kind) {
    case OUTBACK_RECORD_KERNEL:
      return std::string("the kernel ") + (note.name != nullptr ? note.name : "");
    case OUTBACK_RECORD_FILL:
      return "a fill of " + std::to_string(note.bytes) + " bytes";
    case 0:
      return "a wait";
    default:
      return "a copy of " + std::to_string(note.bytes) + " bytes";
  }
}

}  // namespace

const driver_api& command_queue::api() const noexcept {
  return driver_.api();
}

command_queue::~command_queue() {
  // There is nobody to report a failure to.
  api().clReleaseCommandQueue(handle_);
}

void command_queue::close_off() {
  const std::lock_guard lock(mutex_);
  if (exposed_.exchange(false, std::memory_order_relaxed)) mark_locked();
}

void command_queue::reclaim() {
  const std::lock_guard lock(mutex_);
  failure_.clear();
  number_.store(next_number(), std::memory_order_relaxed);
}

uint64_t command_queue::next_number() noexcept {
  static std::atomic<uint64_t> numbers{0};
  return ++numbers;
}

record_place command_queue::place_of(const work_note& note) const noexcept {
  const uint64_t recording = note.kind != 0 ? log_.recording() : 0;
  if (recording == 0) return {};
  return {
      .log = &log_, .recording = recording, .stream = number(), .correlation = correlation_here()};
}

void command_queue::submit() {
  // A driver may hold commands back until it is told, and neither a query nor another queue's wait
  // tells it. If this fails, the next wait reports it.
  api().clFlush(handle_);
  if (++not_looked_ < commands_before_a_look) return;
  not_looked_ = 0;
  look(most_looks);
}

void command_queue::look(std::size_t most) {
  for (; most != 0 && !pending_.empty(); --most) {
    const cl_int status = pending_.front().done.status();
    if (status > CL_COMPLETE) return;
    finish(pending_.front(), status);
    pending_.pop_front();
  }
}

void command_queue::finish(const pending& command, cl_int status) noexcept {
  const record_place& place = command.place;
  cl_ulong begin = 0, end = 0;
  if (status == CL_COMPLETE && place.recording != 0 &&
      command.done.time(CL_PROFILING_COMMAND_START, begin) &&
      command.done.time(CL_PROFILING_COMMAND_END, end)) {
    place.log->add(place.recording, {.kind = command.note.kind,
                                     .flags = 0,
                                     .stream = place.stream,
                                     .begin = int64_t(begin),
                                     .end = int64_t(end),
                                     .bytes = command.note.bytes,
                                     .correlation = place.correlation,
                                     .name = command.note.name,
                                     .reserved = 0});
  }
  if (status == CL_COMPLETE || !failure_.empty()) return;
  try {
    failure_ = name_of(command.note) + " failed after it was enqueued: " + result_name(status);
  } catch (const std::bad_alloc&) {
    failure_ = "work failed";  // short enough to need no memory
  }
}

void command_queue::tell() {
  if (failure_.empty()) return;
  throw runtime_error(OUTBACK_INTERNAL, std::exchange(failure_, {}));
}

event_ref command_queue::mark_locked() {
  event_ref made = enqueue_locked({}, [&](cl_command_queue queue, cl_event* done) {
    call(api().clEnqueueMarkerWithWaitList, queue, 0u, static_cast<const cl_event*>(nullptr), done);
  });
  submit();
  return made;
}

event_ref command_queue::mark() {
  const std::lock_guard lock(mutex_);
  return mark_locked();
}

event_ref command_queue::last() {
  const std::lock_guard lock(mutex_);
  if (exposed_.load(std::memory_order_relaxed)) return mark_locked();
  look(all_of_them);
  return pending_.empty() ? event_ref() : pending_.back().done;
}

void command_queue::wait_for(const event_ref& signal, bool same_driver) {
  if (signal.over()) return;
  if (!same_driver) return gate(signal, nullptr);
  enqueue({}, [&](cl_command_queue queue, cl_event* done) {
    const cl_event one = signal.get();
    call(api().clEnqueueBarrierWithWaitList, queue, 1u, &one, done);
  });
}

void command_queue::enqueue_host_work(std::function<void()> work) {
  gate(event_ref(), std::move(work));
}

void command_queue::gate(const event_ref& reached, std::function<void()> work) {
  host_thread& thread = the_host_thread();
  thread.start(api());
  auto one = std::make_unique<host_thread::prepared>();
  one->push_back(
      {std::move(work), event_ref(api(), make(api().clCreateUserEvent, driver_.context()))});
  const event_ref gate = one->front().gate;
  const std::lock_guard lock(mutex_);
  const event_ref before = reached ? reached : mark_locked();
  enqueue_locked({}, [&](cl_command_queue queue, cl_event* done) {
    const cl_event host = gate.get();
    call(api().clEnqueueBarrierWithWaitList, queue, 1u, &host, done);
  });
  submit();
  // On a thread of the driver, or on this one if the event is over: queueing blocks neither.
  const auto is_over = [](cl_event, cl_int status, void* data) {
    std::unique_ptr<host_thread::prepared> mine(static_cast<host_thread::prepared*>(data));
    if (status < 0 && !mine->front().work) mine->front().status = status;
    the_host_thread().push(std::move(*mine));
  };
  const cl_int result = api().clSetEventCallback(before.get(), CL_COMPLETE, is_over, one.get());
  if (result == CL_SUCCESS) {
    one.release();
    return;
  }
  // The barrier is in the queue, so it has to be let go.
  api().clSetUserEventStatus(gate.get(), CL_COMPLETE);
  check(result, api().clSetEventCallback.name);
}

bool command_queue::idle() {
  const bool exposed = exposed_.load(std::memory_order_relaxed);
  const auto end = std::chrono::steady_clock::now() + look_time;
  std::unique_lock lock(mutex_);
  look(all_of_them);
  if (exposed && pending_.empty()) mark_locked();
  for (;;) {
    look(all_of_them);
    if (pending_.empty()) {
      tell();
      return true;
    }
    if (!exposed || std::chrono::steady_clock::now() > end) return false;
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    lock.lock();
  }
}

void command_queue::record() {
  const std::lock_guard lock(mutex_);
  look(all_of_them);
}

bool command_queue::is_at_work() {
  const std::lock_guard lock(mutex_);
  look(all_of_them);
  return !pending_.empty() && pending_.front().note.kind != 0;
}

void command_queue::sync() {
  if (const event_ref everything = last()) everything.wait();
  const std::lock_guard lock(mutex_);
  look(all_of_them);
  tell();
}

}  // namespace outback::opencl
