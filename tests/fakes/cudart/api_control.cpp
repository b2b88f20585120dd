// fake_cudart.h.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <string_view>

#include "tests/fakes/cudart/driver.hpp"
#include "tests/fakes/cudart/fake_cudart.h"
#include "tests/fakes/cudart/leaks.hpp"
#include "tests/fakes/cudart/memory.hpp"

using namespace fake_cuda;

namespace {

bool is_entry_point(const char* name) {
  const std::string_view text = name;
  if (text == "@copy" || text == "@fill" || text == "@host" || text == "@kernel") return true;
  for (const driver::function& each : driver::functions()) {
    if (text == each.name) return true;
  }
  // Of this library, whatever else the process has loaded.
  Dl_info self = {};
  if (dladdr(reinterpret_cast<void*>(&is_entry_point), &self) == 0) return false;
  void* const library = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  const bool found = library != nullptr && dlsym(library, name) != nullptr;
  if (library != nullptr) dlclose(library);
  return found && (text.starts_with("cuda") || text.starts_with("__cuda"));
}

// What the control functions have in common: no fault, no last error, no driver needed.
template <class Result, class Body>
Result locked(const Body& body) {
  machine& m = the_machine();
  const std::lock_guard lock(m.mutex);
  return body(m);
}

int count_live(const char* kind, bool kept_too) {
  return locked<int>([&](machine& m) {
    int count = 0;
    for_each_live(m, kind, [&](const live_object& each) { count += kept_too || !*each.kept; });
    return count;
  });
}

// The library's view of the range; null where it is not in one allocation.
std::byte* view(machine& m, const void* address, std::size_t size) {
  const auto begin = reinterpret_cast<uintptr_t>(address);
  const block_ptr found = m.blocks.find(begin);
  return found != nullptr && found->holds(begin, size) ? found->at(begin) : nullptr;
}

}  // namespace

extern "C" {

int fake_cudart_fail(const char* entry_point, int nth, int error) {
  if (entry_point == nullptr || nth < 0 || !is_entry_point(entry_point)) {
    std::fprintf(stderr,
                 "fake_cudart_fail(%s, %d, %d): expected an entry point, or @copy, @fill, "
                 "@host or @kernel, and nth >= 0\n",
                 entry_point == nullptr ? "null" : entry_point, nth, error);
    return -1;
  }
  return locked<int>([&](machine& m) {
    m.faults.add(entry_point, nth, error);
    return 0;
  });
}

void fake_cudart_clear_faults(void) {
  locked<void>([](machine& m) { m.faults.clear(); });
}

void fake_cudart_revive(int index) {
  locked<void>([&](machine& m) {
    if (index >= 0 && std::size_t(index) < m.devices.size()) {
      m.devices[std::size_t(index)]->lost = cudaSuccess;
    }
  });
}

unsigned long long fake_cudart_calls(const char* entry_point) {
  return locked<unsigned long long>([&](machine& m) { return m.faults.calls(entry_point); });
}

int fake_cudart_violations(void) {
  return locked<int>([](machine& m) { return m.violations.remembered(); });
}

const char* fake_cudart_violation(int index) {
  return locked<const char*>([&](machine& m) -> const char* {
    const auto& all = m.violations.misuses();
    const std::size_t at = std::size_t(m.violations.first_counted()) + std::size_t(index);
    return index >= 0 && at < all.size() ? all[at].c_str() : nullptr;
  });
}

int fake_cudart_refusals(void) {
  return locked<int>([](machine& m) { return m.violations.refusals(); });
}

const char* fake_cudart_last_refusal(void) {
  return locked<const char*>([](machine& m) { return m.violations.last_refusal(); });
}

void fake_cudart_forget_violations(void) {
  locked<void>([](machine& m) { m.violations.forget(); });
}

int fake_cudart_live(const char* kind) {
  return count_live(kind, true);
}
int fake_cudart_leaks(const char* kind) {
  return count_live(kind, false);
}

void fake_cudart_keep(const char* kind) {
  locked<void>([&](machine& m) {
    for_each_live(m, kind, [](const live_object& each) { *each.kept = true; });
  });
}

int fake_cudart_report_leaks(void) {
  return locked<int>([](machine& m) { return report_leaks(m, nullptr); });
}

int fake_cudart_context_active(int index) {
  return locked<int>([&](machine& m) {
    return index >= 0 && std::size_t(index) < m.devices.size() &&
           m.devices[std::size_t(index)]->active();
  });
}

long long fake_cudart_memory_used(int index) {
  return locked<long long>([&](machine& m) -> long long {
    if (index < 0 || std::size_t(index) >= m.devices.size()) return -1;
    return (long long)(m.devices[std::size_t(index)]->used);
  });
}

long long fake_cudart_memory_used_by_uuid(const char* uuid) {
  return locked<long long>([&](machine& m) -> long long {
    for (const auto& each : m.devices) {
      if (each->described.uuid_text == uuid) return (long long)(each->used);
    }
    return 0;
  });
}

int fake_cudart_peek(void* to, const void* device_memory, size_t size) {
  return locked<int>([&](machine& m) {
    const std::byte* const from = view(m, device_memory, size);
    if (from == nullptr) return -1;
    std::memcpy(to, from, size);
    return 0;
  });
}

int fake_cudart_poke(void* device_memory, const void* from, size_t size) {
  return locked<int>([&](machine& m) {
    std::byte* const to = view(m, device_memory, size);
    if (to == nullptr) return -1;
    std::memcpy(to, from, size);
    return 0;
  });
}

}  // extern "C"
