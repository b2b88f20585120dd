#include "tests/fakes/cudart/thread.hpp"

namespace fake_cuda {
namespace {

constexpr uintptr_t first_context = (uintptr_t(handle_kind::context) << 36) | 0x2a0000000000;

}  // namespace

thread_state& this_thread() {
  thread_local thread_state state;
  return state;
}

device* context_device(machine& m) {
  const auto& contexts = this_thread().contexts;
  return contexts.empty() || contexts.back() < 0 ? nullptr
                                                 : m.devices[std::size_t(contexts.back())].get();
}

void set_context(device* chosen) {
  auto& contexts = this_thread().contexts;
  const int index = chosen == nullptr ? -1 : chosen->index;
  if (contexts.empty()) {
    contexts.push_back(index);
  } else {
    contexts.back() = index;
  }
}

void hold_for_runtime(machine& m, device& held) {
  if (held.runtime_retains) {
    if (held.active()) return;
    throw misuse(cudaErrorContextIsDestroyed,
                 "somebody released the context that the runtime holds");
  }
  m.retain(held);
  held.runtime_retains = true;
}

device& need_context(machine& m) {
  device* current = context_device(m);
  if (current == nullptr) {
    current = &m.device_at(this_thread().device);
    set_context(current);
  }
  hold_for_runtime(m, *current);  // also one that the driver's API has made
  m.check_alive(*current);
  return *current;
}

CUcontext context_of(const device& held) {
  return reinterpret_cast<CUcontext>(first_context + 16 * uintptr_t(held.index));
}

device* device_of(machine& m, CUcontext context) {
  const uintptr_t offset = reinterpret_cast<uintptr_t>(context) - first_context;
  return offset % 16 == 0 && offset / 16 < m.devices.size() ? m.devices[offset / 16].get()
                                                            : nullptr;
}

}  // namespace fake_cuda
