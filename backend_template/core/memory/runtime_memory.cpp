#include "backend_template/core/memory/runtime_memory.h"

#include <cstdint>
#include <exception>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/runtime/format.h"
#include "backend_template/core/runtime/interpreter_lock.h"
#include "backend_template/core/runtime/runtime.h"
#include "outback/answer_check.hpp"

namespace outback::core {
namespace {

// The ranges of memory that the runtime has handed out, so that a range which it hands out twice is
// noticed. The lock is never held around a slot. So a range is removed before it is freed: as soon
// as the slot has freed it, another thread may get the same addresses.
class ranges {
 public:
  // Adds a range and returns "", or returns what is wrong with it. `space` says whose addresses
  // they are: a device's index, or OUTBACK_HOST. The ranges of one space do not overlap, so only
  // the two neighbours have to be compared.
  std::string add(int32_t space, const void* data, size_t size) {
    const auto begin = reinterpret_cast<uintptr_t>(data);
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto next = all_.lower_bound({space, begin});
    if (next != all_.end() && next->first.first == space && next->first.second - begin < size) {
      return overlap(begin, *next);
    }
    if (next != all_.begin()) {
      const auto& before = *std::prev(next);
      if (before.first.first == space && begin - before.first.second < before.second) {
        return overlap(begin, before);
      }
    }
    all_.emplace_hint(next, place{space, begin}, size);
    return "";
  }

  void remove(int32_t space, const void* data) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    all_.erase({space, reinterpret_cast<uintptr_t>(data)});
  }

 private:
  using place = std::pair<int32_t, uintptr_t>;

  static std::string overlap(uintptr_t begin, const std::pair<const place, size_t>& there) {
    return core::format(
        "answered {:#x}, which is somebody's already: {} bytes from {:#x} on are not freed", begin,
        there.second, there.first.second);
  }

  std::mutex mutex_;
  std::map<place, size_t> all_;
};

ranges& known() {
  // Never destroyed: memory may be freed from a static destructor.
  static auto& seen = *new ranges;
  return seen;
}

// Memory that the CPU reaches shares the host's addresses. Memory apart has addresses of its own,
// which may equal those of another device.
int32_t space_of(c10::DeviceIndex device) {
  return is_host_addressable(device) ? OUTBACK_HOST : device;
}

// Does what `space_of` does, for code that must not throw. The device's properties are known by
// then, since it has handed out memory, so nothing is thrown in fact.
int32_t known_space_of(c10::DeviceIndex device) noexcept {
  try {
    return space_of(device);
  } catch (const std::exception&) {
    return device;
  }
}

template <class Free>
void check_memory(void* data, size_t size, size_t alignment, int32_t space, const char* slot,
                  c10::DeviceIndex device, Free&& free) {
  const int64_t shown_device = device == OUTBACK_HOST ? none : device;
  std::string problem = memory_problem(data, size, alignment);
  if (problem.empty() && space == OUTBACK_HOST) problem = reach_problem(data, size);
  if (!problem.empty()) {
    if (data != nullptr) free();
    blame(problem, slot, shown_device, static_cast<int64_t>(size));
  }
  // Memory that overlaps is not given back: that would free somebody else's.
  blame(known().add(space, data, size), slot, shown_device, static_cast<int64_t>(size));
}

}  // namespace

outback_status allocate_device_memory(c10::DeviceIndex device, size_t size, void** data) {
  const size_t alignment = device_info(device).alignment;
  const int32_t space = space_of(device);
  const outback_runtime& table = runtime();
  void* made = nullptr;
  // A driver may wait for the device where it gets or frees memory, as cudaFree does.
  const outback_status status =
      unlocked([&] { return table.mem_alloc(table.self, device, size, &made); });
  if (status != OUTBACK_OK) return status;
  check_memory(made, size, alignment, space, "mem_alloc", device,
               [&] { table.mem_free(table.self, device, made); });
  *data = made;
  return OUTBACK_OK;
}

outback_status free_device_memory(c10::DeviceIndex device, void* data) noexcept {
  known().remove(known_space_of(device), data);
  return unlocked([&] { return runtime().mem_free(runtime().self, device, data); });
}

// torch calls this and the next function with a lock of its own held, so they keep the
// interpreter's: a thread that has that one may wait for torch's.
outback_status allocate_pinned_memory(size_t size, void** data) {
  const outback_runtime& table = runtime();
  void* made = nullptr;
  const outback_status status = table.host_memory->alloc(table.self, size, &made);
  if (status != OUTBACK_OK) return status;
  check_memory(made, size, least_alignment, OUTBACK_HOST, "host_memory.alloc", OUTBACK_HOST,
               [&] { table.host_memory->free(table.self, made); });
  *data = made;
  return OUTBACK_OK;
}

outback_status free_pinned_memory(void* data) noexcept {
  known().remove(OUTBACK_HOST, data);
  return runtime().host_memory->free(runtime().self, data);
}

}  // namespace outback::core
