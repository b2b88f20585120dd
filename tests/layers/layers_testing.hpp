// What the tests of layers share: tables to put layers over.
#pragma once

#include <cstdint>
#include <string>

#include "backend_template/runtimes/host/host_runtime.hpp"
#include "outback/layers.hpp"
#include "outback/table_check.hpp"
#include "tests/runtime/open_table.hpp"
#include "tests/runtime/whole_runtime.hpp"

namespace outback::layers {

/// A host table of its own. `addresses_host`: its devices take any pointer.
inline const outback_runtime* host_table(bool addresses_host = false, int32_t devices = 2) {
  return table_of(*new host::host_runtime({.devices = devices,
                                           .memory_size = uint64_t{64} << 20,
                                           .host_addressable = addresses_host,
                                           .addresses_host = addresses_host}));
}

/// A table with all groups of its own, whose devices do not take the host's memory.
inline const outback_runtime* whole_table(int32_t devices = 2) {
  return table_of(*new whole_runtime(devices));
}

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
