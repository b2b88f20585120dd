#include "backend_template/core/captures/capture.h"

#include <c10/util/Exception.h>
#include <pthread.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "backend_template/core/runtime/runtime.h"

namespace outback::core {

namespace {

// Runs in a forked child, where nobody releases the locks that other threads held. Whoever takes a
// lock asks `any_capture` first, or has started the backend, which such a child cannot.
void forget_captures() noexcept {
  for (detail::captured_streams& each : detail::captured) {
    each.now.store(0, std::memory_order_relaxed);
  }
}

}  // namespace

// What there is of one device. Captures are few, and so are their streams: a search through a list
// is enough.
class capture_registry {
 public:
  // Never destroyed: the destructors of tensors ask for captures after main().
  static capture_registry& of(c10::DeviceIndex device) {
    static auto& all = *new std::array<capture_registry, max_devices>;
    return all[static_cast<size_t>(device)];
  }

  template <class Matches>
  std::shared_ptr<capture> find(Matches matches) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = std::find_if(members_.begin(), members_.end(), matches);
    return found == members_.end() ? nullptr : found->of;
  }

  void enter(const c10::Stream& stream, const std::shared_ptr<capture>& open) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto is_in = std::any_of(members_.begin(), members_.end(),
                                   [&](const member& each) { return each.stream == stream.id(); });
    const std::lock_guard<std::mutex> of_capture(open->mutex_);
    // Another thread may have ended the capture since the event was recorded.
    if (is_in || open->is_over_) return;
    members_.push_back({stream.id(), open});
    const auto device = static_cast<size_t>(stream.device_index());
    open->devices_.set(device);
    count(device);
    // After the count: a thread that sees the new `ever` has to see the new `now` as well.
    detail::captured[device].ever.fetch_add(1, std::memory_order_release);
  }

  bool defer(std::function<void()>&& work) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (members_.empty()) return false;
    waiting_.push_back(std::move(work));
    return true;
  }

  // Takes the streams of `over` out, and does what has waited if no other capture is left. Until
  // that is done, `device`, this object's, counts as captured: others must not miss what is freed.
  void leave(const capture& over, size_t device) noexcept {
    std::vector<std::function<void()>> now;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      std::erase_if(members_, [&](const member& each) { return each.of.get() == &over; });
      if (members_.empty()) now.swap(waiting_);
      ++ending_;
      count(device);
    }
    for (const auto& work : now) work();
    const std::lock_guard<std::mutex> lock(mutex_);
    --ending_;
    count(device);
  }

  // Lets no stream join `over` any more. Returns the devices that it has streams of.
  static std::bitset<max_devices> end(capture& over) noexcept {
    const std::lock_guard<std::mutex> lock(over.mutex_);
    over.is_over_ = true;
    return over.devices_;
  }

 private:
  struct member {
    c10::StreamId stream;
    std::shared_ptr<capture> of;
  };

  void count(size_t device) const noexcept {
    detail::captured[device].now.store(members_.size() + ending_, std::memory_order_release);
  }

  std::mutex mutex_;                            // taken before a capture's own
  std::vector<member> members_;                 // the streams that are in a capture
  std::vector<std::function<void()>> waiting_;  // empty without members
  size_t ending_ = 0;                           // threads that do what has waited
};

void capture::break_off(const std::string& why) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (problem_.empty()) problem_ = why;
}

std::string capture::problem() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return problem_;
}

void capture::spread_to(c10::DeviceIndex device) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_over_ || devices_.test(static_cast<size_t>(device))) return;
  }
  if (of_.hold_pool != nullptr) of_.hold_pool(device);
}

// Without a capture, which is the rule, these two cost one load and no lock.
std::shared_ptr<capture> capture_of(const c10::Stream& stream) {
  const c10::DeviceIndex device = stream.device_index();
  if (!any_capture(device)) return nullptr;
  return capture_registry::of(device).find(
      [&](const auto& member) { return member.stream == stream.id(); });
}

std::shared_ptr<capture> capture_on(c10::DeviceIndex device) {
  if (!any_capture(device)) return nullptr;
  return capture_registry::of(device).find([](const auto& /*member*/) { return true; });
}

bool any_capture_records(uint64_t thread) noexcept {
  for (size_t device = 0; device < max_devices; ++device) {
    const auto index = static_cast<c10::DeviceIndex>(device);
    if (!any_capture(index)) continue;
    const auto records = [&](const auto& member) {
      return thread == 0 ? member.of->program() != nullptr : member.of->records_for(thread);
    };
    if (capture_registry::of(index).find(records) != nullptr) return true;
  }
  return false;
}

bool defer_past_captures(c10::DeviceIndex device, std::function<void()> work) {
  return any_capture(device) && capture_registry::of(device).defer(std::move(work));
}

open_capture::open_capture(std::shared_ptr<capture> opened) : opened_(std::move(opened)) {
  static const int handler = pthread_atfork(nullptr, nullptr, &forget_captures);
  TORCH_CHECK(handler == 0, "pthread_atfork failed with code ", handler);
  join_capture(opened_, opened_->stream());
}

open_capture::~open_capture() {
  const std::bitset<max_devices> devices = capture_registry::end(*opened_);
  for (size_t device = 0; device < max_devices; ++device) {
    if (!devices.test(device)) continue;
    capture_registry::of(static_cast<c10::DeviceIndex>(device)).leave(*opened_, device);
  }
}

void join_capture(const std::shared_ptr<capture>& open, const c10::Stream& stream) {
  capture_registry::of(stream.device_index()).enter(stream, open);
}

void refuse_in_capture(capture* broken, const std::string& what) {
  if (broken != nullptr) broken->break_off(what);
  TORCH_CHECK(false, backend_name(), ": operation not permitted when a stream is capturing: ", what,
              broken == nullptr ? "" : ". There will be no graph of this capture");
}

}  // namespace outback::core
