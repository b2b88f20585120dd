// The copy and fill slots of the OpenCL runtime: which way a copy takes, and when the slot returns.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>

#include "backend_template/runtimes/fill_pattern.hpp"
#include "backend_template/runtimes/opencl/opencl_runtime.hpp"

namespace outback::opencl {
namespace {

// Bytes of the largest copy from pageable memory that is staged: copying twice costs less than
// waiting for the device.
constexpr std::size_t staging_size = std::size_t{64} << 10;

// Bytes of the longest piece of a copy between devices.
constexpr std::size_t detour_size = std::size_t{4} << 20;

work_note note_of(outback_record_kind kind, std::size_t size) {
  return {.kind = kind, .bytes = size, .name = nullptr};
}

// What copies, as a command of a queue.
auto copying(device& d, void* dst, const void* src, std::size_t size) {
  return [=, &d](cl_command_queue queue, cl_event* done) {
    d.pointers().copy(queue, dst, src, size, done);
  };
}

void enqueue_copy(device& d, command_queue& q, outback_record_kind kind, void* dst, const void* src,
                  std::size_t size) {
  q.enqueue(note_of(kind, size), copying(d, dst, src, size));
}

void copy_and_wait(device& d, command_queue& q, outback_record_kind kind, void* dst,
                   const void* src, std::size_t size) {
  q.enqueue_event(note_of(kind, size), copying(d, dst, src, size)).wait();
}

void enqueue_fill(device& d, command_queue& q, void* ptr, std::size_t size, const void* pattern,
                  std::size_t pattern_size) {
  q.enqueue({.kind = OUTBACK_RECORD_FILL, .bytes = size},
            [&](cl_command_queue queue, cl_event* done) {
              d.pointers().fill(queue, ptr, pattern, pattern_size, size, done);
            });
}

void* offset_by(void* ptr, std::size_t offset) {
  return static_cast<char*>(ptr) + offset;
}
const void* offset_by(const void* ptr, std::size_t offset) {
  return static_cast<const char*>(ptr) + offset;
}

// The longest word of the pattern to whose size `ptr` is aligned, as OpenCL's fills need it.
std::size_t word_at(const void* ptr, std::size_t period) {
  const auto address = reinterpret_cast<uintptr_t>(ptr);
  while (address % period != 0) period /= 2;
  return period;
}

}  // namespace

void opencl_runtime::mem_copy(void* dst, int32_t dst_device, const void* src, int32_t src_device,
                              std::size_t size, outback_stream stream) {
  const bool from_host = src_device == OUTBACK_HOST, to_host = dst_device == OUTBACK_HOST;
  device& d = at(from_host ? dst_device : src_device);
  // Checked before anything is enqueued.
  device& other = from_host || to_host ? d : at(dst_device);
  command_queue& q = queue_of(d, stream);
  if (size == 0) return;
  if (&other != &d) return copy_between(d, q, other, dst, src, size);
  if (!from_host && !to_host) {
    enqueue_copy(d, q, OUTBACK_RECORD_COPY_WITHIN, dst, src, size);
    return;
  }
  const outback_record_kind kind =
      from_host ? OUTBACK_RECORD_COPY_TO_DEVICE : OUTBACK_RECORD_COPY_TO_HOST;
  if (from_host && size <= staging_size && !pinned_.find_around(src, size)) {
    auto staged = std::make_unique<std::byte[]>(size);
    std::memcpy(staged.get(), src, size);
    const void* const from = staged.get();
    q.enqueue(note_of(kind, size), copying(d, dst, from, size), std::move(staged));
    return;
  }
  const bool is_pinned = pinned_.find_around(from_host ? src : dst, size).has_value();
  if (is_pinned) return enqueue_copy(d, q, kind, dst, src, size);
  copy_and_wait(d, q, kind, dst, src, size);
}

void opencl_runtime::copy_between(device& from, command_queue& q, device& to, void* dst,
                                  const void* src, std::size_t size) {
  // OpenCL does not promise that a device reaches another one's memory, and two drivers share no
  // order. So the host waits for each half, and one block is enough.
  const std::unique_ptr<void, std::function<void(void*)>> between(
      host_alloc(std::min(size, detour_size)), [this](void* block) { host_free(block); });
  command_queue& onward = to.transfer_queue();
  for (std::size_t done = 0; done < size; done += detour_size) {
    const std::size_t part = std::min(detour_size, size - done);
    copy_and_wait(from, q, OUTBACK_RECORD_COPY_BETWEEN, between.get(), offset_by(src, done), part);
    copy_and_wait(to, onward, 0, offset_by(dst, done), between.get(), part);
  }
}

void opencl_runtime::mem_fill(int32_t index, void* ptr, std::size_t size, const void* pattern,
                              std::size_t pattern_size, outback_stream stream) {
  device& d = at(index);
  command_queue& q = queue_of(d, stream);
  if (size == 0) return;
  const auto* bytes = static_cast<const std::byte*>(pattern);
  const std::size_t period = pattern_period(bytes, pattern_size), word = word_at(ptr, period);
  if (word == period) return enqueue_fill(d, q, ptr, size, bytes, period);
  fill_by_doubling(
      size, bytes, period, word,
      [&](std::size_t at, const std::byte* value) {
        enqueue_fill(d, q, offset_by(ptr, at), word, value, word);
      },
      [&](std::size_t at, std::size_t from, std::size_t part) {
        enqueue_copy(d, q, OUTBACK_RECORD_FILL, offset_by(ptr, at), offset_by(ptr, from), part);
      });
}

}  // namespace outback::opencl
