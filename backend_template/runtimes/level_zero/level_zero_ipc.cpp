// The ipc slots of the Level Zero runtime: memory and events that processes share.
#include "backend_template/runtimes/level_zero/event.hpp"
#include "backend_template/runtimes/level_zero/level_zero_runtime.hpp"

namespace outback::level_zero {

outback_ipc_handle level_zero_runtime::ipc_get_memory(int32_t index, void* ptr) {
  return on(index, [&](device& d) {
    // Only the beginning of an allocation has a handle: the driver's would stand for the whole
    // allocation.
    const auto found = d.memory().find(ptr);
    if (!found || found->base != ptr) {
      throw invalid_argument("the pointer is not what mem_alloc answered for device " +
                             std::to_string(index));
    }
    return shared_.share(d, *found);
  });
}

void* level_zero_runtime::ipc_open_memory(int32_t index, const outback_ipc_handle& handle) {
  return on(index, [&](device& d) { return shared_.open(d, handle); });
}

void level_zero_runtime::ipc_close_memory(int32_t index, void* ptr) {
  on(index, [&](device& d) { shared_.close(d, ptr); });
}

outback_ipc_handle level_zero_runtime::ipc_get_event(int32_t index, outback_event handle) {
  return on(index, [&](device& d) {
    const event& e = event_of(d, handle);
    if (e.shared() == nullptr) {
      throw invalid_argument("the event was created without OUTBACK_EVENT_INTERPROCESS");
    }
    return e.shared()->handle();
  });
}

outback_event level_zero_runtime::ipc_open_event(int32_t index, const outback_ipc_handle& handle) {
  return on(index, [&](device& d) {
    return reinterpret_cast<outback_event>(new event(d.index(), OUTBACK_EVENT_INTERPROCESS,
                                                     std::make_shared<shared_recordings>(handle)));
  });
}

}  // namespace outback::level_zero
