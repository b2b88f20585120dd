#include "backend_template/core/memory/copy.h"

#include <ATen/Context.h>
#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/Stream.h>
#include <c10/util/Exception.h>

#include <cstdint>
#include <limits>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/runtime/interpreter_lock.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/event.h"
#include "backend_template/core/streams/observed.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/core/twin/twin.h"
#include "outback/answer_check.hpp"

namespace outback::core {
namespace {

int32_t runtime_index(c10::Device device) {
  return device.is_cpu() ? OUTBACK_HOST : device.index();
}

work kind_of_copy(c10::Device dst, c10::Device src) {
  if (src.is_cpu()) return work::copy_to_device;
  if (dst.is_cpu()) return work::copy_to_host;
  return dst == src ? work::copy_within : work::copy_between;
}

void enqueue(void* dst, c10::Device dst_device, const void* src, c10::Device src_device,
             size_t size, const c10::Stream& stream) {
  observed_work copied(kind_of_copy(dst_device, src_device), stream, size);
  const auto copy = [&] {
    return runtime().mem_copy(runtime().self, dst, runtime_index(dst_device), src,
                              runtime_index(src_device), size, copied.handle());
  };
  // A copy of pageable memory may wait for what the stream still has to do.
  const outback_status status = is_idle(stream) ? copy() : unlocked(copy);
  check(status, "mem_copy", stream.device_index(), static_cast<int64_t>(size));
  copied.enqueued();
}

// Keeps pinned memory from being handed out again before the stream's copy is over. Returns false
// for pageable memory, which nothing can keep.
bool hold_host_memory(const outback_pointer_info& info, const c10::Stream& stream) {
  if (info.pinned == 0) return false;
  // torch's allocator finds a block by its base address, and does nothing for memory that it does
  // not own: whoever pinned that keeps it alive.
  at::getHostAllocator(device_type)->record_event(info.base, nullptr, stream);
  return true;
}

// Waits for a stream after a failure, which is what is told: if this fails too, the device is lost.
void wait_in_vain(const c10::Stream& stream) noexcept {
  try {
    synchronize_stream(stream);
  } catch (...) {
    warn(backend_name(), ": a copy on ", stream, " may go on: ", handled_text());
  }
}

void between_devices(void* dst, c10::Device dst_device, const void* src, c10::Device src_device,
                     size_t size) {
  const c10::Stream from = current_stream(src_device.index());
  if (dst_device == src_device) return enqueue(dst, dst_device, src, src_device, size, from);
  const c10::Stream to = current_stream(dst_device.index());
  // The copy runs on the source's stream, as the contract wants. So it has to wait for what the
  // destination's stream still does with `dst`, and that stream has to wait for the copy.
  if (!is_idle(to)) {
    event written;
    written.record(to);
    written.block(from);
  }
  event copied;
  copied.create(from.device_index());  // before the copy: it may fail
  enqueue(dst, dst_device, src, src_device, size, from);
  try {
    copied.record(from);
    copied.block(to);
  } catch (...) {
    // The caller frees what is copied from and to, and others must not get it before that is over.
    wait_in_vain(from);
    throw;
  }
}

}  // namespace

void copy_bytes(void* dst, c10::Device dst_device, const void* src, c10::Device src_device,
                size_t size, bool non_blocking) {
  if (size == 0) return;
  ensure_started();
  const bool to_device = dst_device.type() == device_type;
  const bool from_device = src_device.type() == device_type;
  TORCH_INTERNAL_ASSERT((to_device || from_device) && (to_device || dst_device.is_cpu()) &&
                        (from_device || src_device.is_cpu()));
  // The contract forbids ranges that overlap. Equal addresses on two devices do not overlap.
  const auto first = reinterpret_cast<uintptr_t>(dst);
  const auto second = reinterpret_cast<uintptr_t>(src);
  TORCH_CHECK(first + size <= second || second + size <= first || dst_device != src_device,
              backend_name(), ": cannot copy ", size, " bytes between ranges that overlap");
  if (to_device && from_device) return between_devices(dst, dst_device, src, src_device, size);

  const c10::Stream stream = current_stream(to_device ? dst_device.index() : src_device.index());
  // Before the copy, since it may fail.
  const auto host = non_blocking ? pointer_info(to_device ? src : dst) : outback_pointer_info{};
  enqueue(dst, dst_device, src, src_device, size, stream);
  if (non_blocking && hold_host_memory(host, stream)) return;
  // A pageable source needs no wait: by the contract mem_copy has read it when it returns. A
  // pageable destination is written only when the stream gets there.
  if (to_device && non_blocking) return;
  synchronize_stream(stream);
}

void fill_bytes(void* dst, c10::DeviceIndex device, size_t size, const void* pattern,
                size_t pattern_size) {
  if (size == 0) return;
  ensure_started();
  observed_work filled(work::fill, current_stream(device), size);
  check(
      runtime().mem_fill(runtime().self, device, dst, size, pattern, pattern_size, filled.handle()),
      "mem_fill", device, static_cast<int64_t>(size));
  filled.enqueued();
}

outback_pointer_info pointer_info(const void* ptr) {
  ensure_started();
  outback_pointer_info info{};
  info.struct_size = sizeof info;
  info.device = OUTBACK_HOST;
  const outback_host_memory* group = runtime().host_memory;
  if (group == nullptr) return info;
  constexpr const char* slot = "host_memory.info";
  constexpr int32_t unwritten = std::numeric_limits<int32_t>::min();
  info.device = unwritten;
  check(group->info(runtime().self, ptr, &info), slot);
  check_written(info.device, unwritten, "info", slot);
  blame(pointer_info_problem(info, ptr, device_count()), slot);
  return info;
}

bool is_pinned(const void* ptr) {
  const auto twin = known_twin_type();
  if (twin && at::globalContext().isPinnedPtr(ptr, twin)) return true;
  return ptr != nullptr && is_started() && pointer_info(ptr).pinned != 0;
}

}  // namespace outback::core
