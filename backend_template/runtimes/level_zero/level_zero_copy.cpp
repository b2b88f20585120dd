// The copy and fill slots of the Level Zero runtime: which way a copy takes, and when the slot
// returns.
#include <algorithm>
#include <cstddef>

#include "backend_template/runtimes/fill_pattern.hpp"
#include "backend_template/runtimes/level_zero/level_zero_runtime.hpp"
#include "backend_template/runtimes/level_zero/result.hpp"

namespace outback::level_zero {
namespace {

void append_copy(command_queue& q, void* dst, const void* src, std::size_t size) {
  q.append(q.of().api().zeCommandListAppendMemoryCopy, dst, src, size);
}

void copy_and_wait(command_queue& q, void* dst, const void* src, std::size_t size) {
  q.append_signalling(q.of().api().zeCommandListAppendMemoryCopy, dst, src, size).wait();
}

void append_fill(command_queue& q, void* ptr, std::size_t size, const void* pattern,
                 std::size_t pattern_size) {
  q.append(q.of().api().zeCommandListAppendMemoryFill, ptr, pattern, pattern_size, size);
}

// Bytes of the longest piece of a copy between devices that cannot reach each other.
constexpr std::size_t detour_size = std::size_t{4} << 20;

// Pinned memory of that size for such a copy, which must have waited for its commands before this
// goes. The device keeps one for the next copy; of copies that are made at once the others free it.
class detour {
 public:
  explicit detour(device& from) : from_(from), memory_(from.kept_detour().exchange(nullptr)) {
    if (memory_ == nullptr) memory_ = from.of().alloc_pinned(detour_size);
  }
  ~detour() {
    void* const second = from_.kept_detour().exchange(memory_);
    if (second != nullptr) from_.of().api().zeMemFree(from_.of().context_if_any(), second);
  }
  detour(const detour&) = delete;
  detour& operator=(const detour&) = delete;

  void* memory() const noexcept { return memory_; }

 private:
  device& from_;
  void* memory_;
};

void* offset_by(void* ptr, std::size_t offset) {
  return static_cast<char*>(ptr) + offset;
}
const void* offset_by(const void* ptr, std::size_t offset) {
  return static_cast<const char*>(ptr) + offset;
}

}  // namespace

void level_zero_runtime::mem_copy(void* dst, int32_t dst_device, const void* src,
                                  int32_t src_device, std::size_t size, outback_stream stream) {
  const bool from_host = src_device == OUTBACK_HOST, to_host = dst_device == OUTBACK_HOST;
  on(from_host ? dst_device : src_device, [&](device& d) {
    // Checked before anything is enqueued.
    device& other = from_host || to_host ? d : at(dst_device);
    command_queue& q = queue_of(d, stream);
    if (size == 0) return;
    if (from_host) {
      copy_from_host(d, q, dst, src, size);
    } else if (to_host) {
      copy_to_host(d, q, dst, src, size);
    } else {
      copy_between(d, q, other, dst, src, size);
    }
  });
}

void level_zero_runtime::copy_from_host(device& d, command_queue& q, void* dst, const void* src,
                                        std::size_t size) {
  if (pinned(d, src, size)) return append_copy(q, dst, src, size);
  // If all staging blocks are in use, the caller waits: that also slows down a caller who is faster
  // than the device.
  if (size <= staging_size && q.copy_staged(dst, src, size)) return;
  copy_and_wait(q, dst, src, size);
}

void level_zero_runtime::copy_to_host(device& d, command_queue& q, void* dst, const void* src,
                                      std::size_t size) {
  if (pinned(d, dst, size)) return append_copy(q, dst, src, size);
  copy_and_wait(q, dst, src, size);
}

void level_zero_runtime::copy_between(device& from, command_queue& q, device& to, void* dst,
                                      const void* src, std::size_t size) {
  if (&from == &to || can_reach(from, to)) {
    return blame(from, to, [&] { append_copy(q, dst, src, size); });
  }
  // The two devices share no order, so the host waits for each half. One block is enough then.
  const detour between(from);
  command_queue& onward = blame(to, [&]() -> command_queue& { return to.transfer_queue(); });
  for (std::size_t done = 0; done < size; done += detour_size) {
    const std::size_t part = std::min(detour_size, size - done);
    copy_and_wait(q, between.memory(), offset_by(src, done), part);
    blame(to, [&] { copy_and_wait(onward, offset_by(dst, done), between.memory(), part); });
  }
}

void level_zero_runtime::mem_fill(int32_t index, void* ptr, std::size_t size, const void* pattern,
                                  std::size_t pattern_size, outback_stream stream) {
  on(index, [&](device& d) {
    command_queue& q = queue_of(d, stream);
    if (size == 0) return;
    const auto* bytes = static_cast<const std::byte*>(pattern);
    const std::size_t period = pattern_period(bytes, pattern_size);
    // The longest word that the driver's fills take: each word of the pattern is a fill of its own.
    const std::size_t word = std::min(period, d.facts().longest_pattern);
    if (word == period) return append_fill(q, ptr, size, bytes, period);
    fill_by_doubling(
        size, bytes, period, word,
        [&](std::size_t at, const std::byte* value) {
          append_fill(q, offset_by(ptr, at), word, value, word);
        },
        [&](std::size_t at, std::size_t from, std::size_t part) {
          append_copy(q, offset_by(ptr, at), offset_by(ptr, from), part);
        });
  });
}

}  // namespace outback::level_zero
