// The copy and fill slots of the host runtime: which thread does the work, and when the slot
// returns.
#include <algorithm>
#include <array>
#include <cstring>

#include "backend_template/runtimes/host/host_runtime.hpp"
#include "outback/detail/large_copy.hpp"

namespace outback::host {
namespace {

// In bytes. Up to this size a copy on the calling thread ends before the thread could have woken
// another one and gone on with other work.
constexpr std::size_t inline_size = std::size_t{1} << 20;

// In bytes. Up to this size a pageable source is staged if its stream is busy; above it, the caller
// waits for the copy, which saves the memory and the second copy.
constexpr std::size_t staging_size = std::size_t{1} << 20;

// Fills by eight bytes at a time. `word` is the pattern, repeated to eight bytes. memcpy stores it
// because the contract does not promise that `ptr` is aligned.
void fill(void* ptr, std::size_t size, const std::array<std::byte, 8>& word) {
  if (std::all_of(word.begin(), word.end(), [&](std::byte b) { return b == word[0]; })) {
    std::memset(ptr, std::to_integer<int>(word[0]), size);
    return;
  }
  auto* out = static_cast<std::byte*>(ptr);
  std::size_t i = 0;
  for (; i + word.size() <= size; i += word.size()) std::memcpy(out + i, word.data(), word.size());
  std::memcpy(out + i, word.data(), size - i);
}

outback_record_kind kind_of(int32_t dst_device, int32_t src_device) {
  if (src_device == OUTBACK_HOST) return OUTBACK_RECORD_COPY_TO_DEVICE;
  if (dst_device == OUTBACK_HOST) return OUTBACK_RECORD_COPY_TO_HOST;
  return dst_device == src_device ? OUTBACK_RECORD_COPY_WITHIN : OUTBACK_RECORD_COPY_BETWEEN;
}

}  // namespace

void host_runtime::mem_copy(void* dst, int32_t dst_device, const void* src, int32_t src_device,
                            std::size_t size, outback_stream handle) {
  const bool from_host = src_device == OUTBACK_HOST, to_host = dst_device == OUTBACK_HOST;
  stream& s = stream_at(from_host ? dst_device : src_device, handle);
  if (!from_host && !to_host) at(dst_device);
  if (size == 0) return;
  if (!to_host) {
    check_range(dst_device, dst, size);
    dst = bytes_at(dst);
  }
  if (!from_host) {
    check_range(src_device, src, size);
    src = bytes_at(src);
  }

  const work_note note = {.kind = kind_of(dst_device, src_device), .bytes = size};
  const auto copy = [=] { copy_memory(dst, src, size); };
  if (size <= inline_size && s.try_run(copy, note)) return;

  // From here on the copy is large or its stream is busy. Only pageable host memory needs care: the
  // caller may change or free it as soon as the slot returns.
  const void* host_side = from_host ? src : to_host ? dst : nullptr;
  constexpr const char* what = "a copy from or to pageable host memory";
  if (host_side == nullptr || pinned(host_side, size)) {
    s.enqueue(copy, runner::a_waiter_too, note);
  } else if (s.try_run(copy, note)) {
    // The caller would have to wait anyway, and copying here saves waking a thread.
    return;
  } else if (from_host && size <= staging_size) {
    const std::shared_ptr<std::byte[]> staged(new std::byte[size]);
    std::memcpy(staged.get(), src, size);
    s.enqueue_uncaptured([=] { std::memcpy(dst, staged.get(), size); }, what, nullptr,
                         runner::its_thread, note);
  } else {
    s.wait(s.enqueue_uncaptured(copy, what, nullptr, runner::its_thread, note));
  }
}

void host_runtime::mem_fill(int32_t index, void* ptr, std::size_t size, const void* pattern,
                            std::size_t pattern_size, outback_stream handle) {
  stream& s = stream_at(index, handle);
  if (size == 0) return;
  check_range(index, ptr, size);
  ptr = bytes_at(ptr);
  std::array<std::byte, 8> word;
  for (std::size_t i = 0; i < word.size(); i += pattern_size)
    std::memcpy(word.data() + i, pattern, pattern_size);
  const work_note note = {.kind = OUTBACK_RECORD_FILL, .bytes = size};
  const auto work = [=] { fill(ptr, size, word); };
  if (size <= inline_size && s.try_run(work, note)) return;
  s.enqueue(work, runner::a_waiter_too, note);
}

}  // namespace outback::host
