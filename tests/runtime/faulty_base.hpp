// What the runtimes that are wrong on purpose have in common: the host's, but for one thing each.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "backend_template/runtimes/host/event.hpp"
#include "backend_template/runtimes/host/host_runtime.hpp"

namespace outback::host::faulty {

constexpr host_options options = {.devices = 2, .memory_size = uint64_t{512} << 20};

struct base : host_runtime {
  base() : host_runtime(options) {}
  static stream& of(outback_stream s) { return *reinterpret_cast<stream*>(s); }

  // Whoever believes a fault frees what is still in use. The test is to see wrong bytes, and not to
  // die of them.
  void mem_free(int32_t d, void* ptr) {
    really_sync();
    host_runtime::mem_free(d, ptr);
  }
  void host_free(void* ptr) {
    really_sync();
    host_runtime::host_free(ptr);
  }
  void really_sync() {
    for (int32_t d = 0; d < options.devices; ++d) host_runtime::device_sync(d);
  }
};

template <class Faulty>
const outback_runtime* table_of_a() {
  return table_of(*new Faulty);
}

/// By the name of what is wrong.
using faults = std::map<std::string, const outback_runtime* (*)()>;

/// Of faulty_answers.cpp.
const faults& faulty_answers();

}  // namespace outback::host::faulty
