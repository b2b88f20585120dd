#include "backend_template/core/graphs/capture.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "backend_template/core/graphs/host_program.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/stream.h"

namespace outback::core {
namespace {

// A stream that is in a capture.
struct member {
  c10::Stream stream;
  std::shared_ptr<capture> of;
};

// Never destroyed: the destructors of tensors ask for captures after main().
struct registry {
  std::mutex mutex;
  std::vector<member> members;
};

registry& all() {
  static auto& captures = *new registry;
  return captures;
}

template <class Matches>
std::shared_ptr<capture> find_capture(c10::DeviceIndex device, Matches matches) {
  // Without a capture, which is the rule, this costs one load and no lock.
  if (!any_capture(device)) return nullptr;
  const std::lock_guard<std::mutex> lock(all().mutex);
  const auto found = std::find_if(all().members.begin(), all().members.end(), matches);
  return found == all().members.end() ? nullptr : found->of;
}

// Call it with the mutex held.
void enter(const c10::Stream& stream, const std::shared_ptr<capture>& open) {
  all().members.push_back({stream, open});
  auto& streams = detail::captured[static_cast<size_t>(stream.device_index())];
  streams.now.fetch_add(1, std::memory_order_relaxed);
  // After `now`: a thread that sees the new `ever` has to see the new `now` as well.
  streams.ever.fetch_add(1, std::memory_order_release);
}

}  // namespace

namespace detail {
constinit std::array<captured_streams, max_devices> captured{};
}  // namespace detail

capture::capture(const c10::Stream& first, c10::MempoolId_t pool, bool pool_is_fresh,
                 std::shared_ptr<host_program> program)
    : first_(first),
      pool_(std::move(pool)),
      pool_is_fresh_(pool_is_fresh),
      program_(std::move(program)) {}

void capture::break_off(const std::string& why) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (problem_.empty()) problem_ = why;
}

std::string capture::problem() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return problem_;
}

// Captures are few, and so are their streams: a search through the list is enough.
std::shared_ptr<capture> capture_of(const c10::Stream& stream) {
  return find_capture(stream.device_index(),
                      [&](const member& joined) { return joined.stream == stream; });
}

std::shared_ptr<capture> capture_on(c10::DeviceIndex device) {
  return find_capture(device,
                      [&](const member& joined) { return joined.stream.device_index() == device; });
}

void open_capture(const std::shared_ptr<capture>& open) {
  {
    const std::lock_guard<std::mutex> lock(all().mutex);
    enter(open->stream(), open);
  }
  // From now on the stream is never idle, so whoever would wait for it is refused.
  set_captured(open->stream(), true);
}

void join_capture(const std::shared_ptr<capture>& open, const c10::Stream& stream) {
  {
    const std::lock_guard<std::mutex> lock(all().mutex);
    auto& members = all().members;
    const auto is_open = std::any_of(members.begin(), members.end(),
                                     [&](const member& each) { return each.of == open; });
    const auto is_in = std::any_of(members.begin(), members.end(),
                                   [&](const member& each) { return each.stream == stream; });
    // Another thread may have ended the capture since the event was recorded.
    if (!is_open || is_in) return;
    enter(stream, open);
  }
  set_captured(stream, true);
}

void close_capture(const std::shared_ptr<capture>& open) noexcept {
  const std::lock_guard<std::mutex> lock(all().mutex);
  auto& members = all().members;
  const auto gone = std::stable_partition(members.begin(), members.end(),
                                          [&](const member& each) { return each.of != open; });
  for (auto each = gone; each != members.end(); ++each) {
    set_captured(each->stream, false);
    detail::captured[static_cast<size_t>(each->stream.device_index())].now.fetch_sub(
        1, std::memory_order_release);
  }
  members.erase(gone, members.end());
}

void refuse_in_capture(capture* broken, const std::string& what) {
  if (broken != nullptr) broken->break_off(what);
  TORCH_CHECK(false, backend_name(), ": operation not permitted when a stream is capturing: ", what,
              broken == nullptr ? "" : ". There will be no graph of this capture");
}

}  // namespace outback::core
