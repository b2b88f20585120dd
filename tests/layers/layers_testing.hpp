// What the tests of layers share: host tables, and a table whose slots a test may replace.
#pragma once

#include <cstdint>
#include <string>

#include "backend_template/runtimes/host/host_runtime.hpp"
#include "outback/layers.hpp"
#include "outback/table_check.hpp"

namespace outback::layers {

/// A host table of its own. `addresses_host`: its devices take any pointer.
inline const outback_runtime* host_table(bool addresses_host = false, int32_t devices = 2) {
  return table_of(*new host::host_runtime({.devices = devices,
                                           .memory_size = uint64_t{64} << 20,
                                           .host_addressable = addresses_host,
                                           .addresses_host = addresses_host}));
}

/// A copy of a table, with groups that may be written to.
struct open_table {
  explicit open_table(const outback_runtime& given)
      : runtime(given),
        streams(*given.streams),
        events(*given.events),
        host_memory(*given.host_memory),
        device_state(*given.device_state) {
    runtime.streams = &streams;
    runtime.events = &events;
    runtime.host_memory = &host_memory;
    runtime.device_state = &device_state;
  }
  open_table(const open_table&) = delete;
  open_table& operator=(const open_table&) = delete;

  outback_runtime runtime;
  outback_streams streams;
  outback_events events;
  outback_host_memory host_memory;
  outback_device_state device_state;
};

inline std::string text_of(const outback_runtime* table) {
  return table->last_error(table->self);
}

/// What `body` throws.
template <class Body>
std::string refusal_of(Body&& body) {
  try {
    body();
  } catch (const invalid_argument& error) {
    return error.what();
  }
  return {};
}

}  // namespace outback::layers
