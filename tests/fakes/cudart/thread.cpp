#include "tests/fakes/cudart/thread.hpp"

#include <pthread.h>

#include <memory>
#include <system_error>

namespace fake_cuda {
namespace {

constexpr uintptr_t first_context = (uintptr_t(handle_kind::context) << 36) | 0x2a0000000000;

[[noreturn]] void throw_errno(int error) {
  throw std::system_error(error, std::generic_category(), "a thread's state of CUDA");
}

pthread_key_t make_key() {
  pthread_key_t key;
  const auto end = [](void* state) { delete static_cast<thread_state*>(state); };
  if (const int error = pthread_key_create(&key, end)) throw_errno(error);
  return key;
}

}  // namespace

// By a key of POSIX: exit() ends the main thread's thread_local variables before it calls what
// atexit was given, which may free memory. CUDA answers there, on the device that was current.
thread_state& this_thread() {
  static const pthread_key_t key = make_key();
  if (void* there = pthread_getspecific(key)) return *static_cast<thread_state*>(there);
  auto made = std::make_unique<thread_state>();
  if (const int error = pthread_setspecific(key, made.get())) throw_errno(error);
  return *made.release();
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
