// The layout of contract.rs, field by field, against the header's. A field that is missing on one
// side, or has another place or name there, is said on stderr and fails the test.
#include <outback/runtime.h>

#include <cstdio>
#include <map>
#include <string>

// As in layout.rs.
struct place {
  const char* name;
  std::size_t offset;
  std::size_t size;
};

extern "C" const place* rust_runtime_layout(std::size_t* count);

namespace {

const place header[] = {
#define STRUCT(type) {#type, 0, sizeof(type)},
#define FIELD(type, field) {#type "." #field, offsetof(type, field), 0},
    // clang-format off
    STRUCT(outback_device_info)
    FIELD(outback_device_info, struct_size) FIELD(outback_device_info, flags)
    FIELD(outback_device_info, memory_size) FIELD(outback_device_info, max_alloc_size)
    FIELD(outback_device_info, alignment) FIELD(outback_device_info, kernels_of)
    FIELD(outback_device_info, compute_units) FIELD(outback_device_info, subgroup_size)
    FIELD(outback_device_info, max_group_size) FIELD(outback_device_info, capability_major)
    FIELD(outback_device_info, capability_minor) FIELD(outback_device_info, uuid)
    FIELD(outback_device_info, name) FIELD(outback_device_info, pci_id)

    STRUCT(outback_pointer_info)
    FIELD(outback_pointer_info, struct_size) FIELD(outback_pointer_info, device)
    FIELD(outback_pointer_info, pinned) FIELD(outback_pointer_info, reserved)
    FIELD(outback_pointer_info, base) FIELD(outback_pointer_info, size)

    STRUCT(outback_streams)
    FIELD(outback_streams, struct_size) FIELD(outback_streams, reserved)
    FIELD(outback_streams, create) FIELD(outback_streams, destroy) FIELD(outback_streams, query)
    FIELD(outback_streams, sync) FIELD(outback_streams, priorities)

    STRUCT(outback_events)
    FIELD(outback_events, struct_size) FIELD(outback_events, reserved)
    FIELD(outback_events, create) FIELD(outback_events, destroy) FIELD(outback_events, record)
    FIELD(outback_events, wait) FIELD(outback_events, query) FIELD(outback_events, sync)
    FIELD(outback_events, elapsed)

    STRUCT(outback_host_memory)
    FIELD(outback_host_memory, struct_size) FIELD(outback_host_memory, reserved)
    FIELD(outback_host_memory, alloc) FIELD(outback_host_memory, free)
    FIELD(outback_host_memory, info)

    // Rust's table ends behind host_memory, and `self` is a word of Rust's.
    {"outback_runtime", 0, offsetof(outback_runtime, device_state)},
    FIELD(outback_runtime, struct_size) FIELD(outback_runtime, abi_major)
    FIELD(outback_runtime, abi_minor) {"outback_runtime.this", offsetof(outback_runtime, self), 0},
    FIELD(outback_runtime, last_error) FIELD(outback_runtime, device_count)
    FIELD(outback_runtime, device_info) FIELD(outback_runtime, device_sync)
    FIELD(outback_runtime, mem_alloc) FIELD(outback_runtime, mem_free)
    FIELD(outback_runtime, mem_copy) FIELD(outback_runtime, mem_fill)
    FIELD(outback_runtime, streams) FIELD(outback_runtime, events)
    FIELD(outback_runtime, host_memory)
    // clang-format on
};

std::string text(const place& p) {
  return "at " + std::to_string(p.offset) +
         (p.size == 0 ? "" : ", " + std::to_string(p.size) + " bytes");
}

std::map<std::string, std::string> by_name(const place* places, std::size_t count) {
  std::map<std::string, std::string> all;
  for (std::size_t i = 0; i < count; ++i) all[places[i].name] = text(places[i]);
  return all;
}

/// Says what `these` have and `those` have not, or have elsewhere.
int differences(const std::map<std::string, std::string>& these,
                const std::map<std::string, std::string>& those, const char* whose) {
  int count = 0;
  for (const auto& [name, where] : these) {
    const auto found = those.find(name);
    if (found != those.end() && found->second == where) continue;
    std::fprintf(stderr, "%s has %s %s; the other has it %s\n", whose, name.c_str(), where.c_str(),
                 found == those.end() ? "nowhere" : found->second.c_str());
    ++count;
  }
  return count;
}

}  // namespace

int main() {
  std::size_t count = 0;
  const place* places = rust_runtime_layout(&count);
  const auto rust = by_name(places, count);
  const auto c = by_name(header, sizeof(header) / sizeof(header[0]));
  const int wrong = differences(c, rust, "the header") + differences(rust, c, "Rust");
  std::printf("%zu structs and fields compared, %d differences\n", c.size(), wrong);
  return wrong == 0 ? 0 : 1;
}
