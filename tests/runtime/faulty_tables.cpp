// Runtimes that are wrong in one way each, to prove that the suite notices. OUTBACK_TEST_FAULT says
// in which.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "backend_template/runtimes/host/event.hpp"
#include "backend_template/runtimes/host/host_runtime.hpp"

namespace outback::host {
namespace {

constexpr host_options options = {.devices = 2, .memory_size = uint64_t{512} << 20};

struct base : host_runtime {
  base() : host_runtime(options) {}
  static stream& of(outback_stream s) { return *reinterpret_cast<stream*>(s); }
};

// Reads a host source at the next call that would show the difference.
struct reads_the_source_late : base {
  void mem_copy(void* dst, int32_t dst_device, const void* src, int32_t src_device,
                std::size_t size, outback_stream s) {
    if (src_device == OUTBACK_HOST) {
      late = [=, this] { host_runtime::mem_copy(dst, dst_device, src, src_device, size, s); };
    } else {
      std::exchange(late, [] {})();
      host_runtime::mem_copy(dst, dst_device, src, src_device, size, s);
    }
  }
  void device_sync(int32_t d) {
    std::exchange(late, [] {})();
    host_runtime::device_sync(d);
  }
  std::function<void()> late = [] {};
};

struct small_copies_overtake : base {
  void mem_copy(void* dst, int32_t dst_device, const void* src, int32_t src_device,
                std::size_t size, outback_stream s) {
    if (size <= 64) return void(std::memcpy(dst, src, size));
    host_runtime::mem_copy(dst, dst_device, src, src_device, size, s);
  }
};

struct copies_whole_words_only : base {
  void mem_copy(void* dst, int32_t dst_device, const void* src, int32_t src_device,
                std::size_t size, outback_stream s) {
    host_runtime::mem_copy(dst, dst_device, src, src_device, size / 8 * 8, s);
  }
};

struct fills_with_the_first_byte : base {
  void mem_fill(int32_t d, void* ptr, std::size_t size, const void* pattern, std::size_t,
                outback_stream s) {
    host_runtime::mem_fill(d, ptr, size, pattern, 1, s);
  }
};

struct fills_too_far : base {
  void mem_fill(int32_t d, void* ptr, std::size_t size, const void* pattern, std::size_t width,
                outback_stream s) {
    const std::size_t more = size > 64 && size < 4096 ? width : 0;
    host_runtime::mem_fill(d, ptr, size + more, pattern, width, s);
  }
};

struct query_is_always_ready : base {
  bool stream_query(int32_t, outback_stream) { return true; }
};

struct sync_does_nothing : base {
  void stream_sync(int32_t, outback_stream) {}
};

struct device_sync_waits_for_the_default_stream : base {
  void device_sync(int32_t d) { stream_sync(d, nullptr); }
  void mem_free(int32_t d, void* ptr) {
    host_runtime::device_sync(d);  // the caller believes that it did
    host_runtime::mem_free(d, ptr);
  }
};

struct wait_does_nothing : base {
  void event_wait(int32_t, outback_event, outback_stream) {}
};

// Looks at the event when the stream gets there, not when the wait was enqueued.
struct wait_looks_late : base {
  void event_wait(int32_t, outback_event e, outback_stream s) {
    if (s != nullptr) of(s).enqueue([e] { reinterpret_cast<event*>(e)->sync(); });
  }
};

struct event_query_is_always_ready : base {
  bool event_query(int32_t, outback_event) { return true; }
};

struct records_only_once : base {
  void event_record(int32_t d, outback_event e, outback_stream s) {
    if (!recorded[e]) host_runtime::event_record(d, e, s);
    recorded[e] = true;
  }
  std::map<outback_event, bool> recorded;
};

struct elapsed_in_microseconds : base {
  std::optional<int64_t> event_elapsed(outback_event from, outback_event to) {
    const auto ns = host_runtime::event_elapsed(from, to);
    return ns ? std::optional(*ns / 1000) : ns;
  }
};

struct forgets_what_is_freed : base {
  void mem_free(int32_t d, void* ptr) {
    host_runtime::mem_free(d, ptr);
    if (ptr != nullptr) lost += std::size_t{64} << 20;
  }
  void* mem_alloc(int32_t d, std::size_t size) {
    if (size + lost > options.memory_size) throw out_of_memory("lost");
    return host_runtime::mem_alloc(d, size);
  }
  std::size_t lost = 0;
};

struct has_no_limit : base {
  void* mem_alloc(int32_t d, std::size_t size) {
    if (size > options.memory_size) throw out_of_memory("more than there is");
    if (void* ptr = host_alloc(size)) return ptr;
    return host_runtime::mem_alloc(d, size);
  }
  void mem_free(int32_t d, void* ptr) {
    host_info(ptr).pinned ? host_free(ptr) : host_runtime::mem_free(d, ptr);
  }
};

struct takes_any_device : base {
  void device_sync(int32_t d) { host_runtime::device_sync(d < 0 || d >= 2 ? 0 : d); }
};

struct knows_no_interior_pointers : base {
  outback_pointer_info host_info(const void* ptr) const {
    outback_pointer_info info = host_runtime::host_info(ptr);
    if (info.base != ptr)
      info = {.struct_size = 0,
              .device = OUTBACK_HOST,
              .pinned = 0,
              .reserved = 0,
              .base = nullptr,
              .size = 0};
    return info;
  }
};

struct registers_nothing : base {
  void host_register(void*, std::size_t) {}
};

struct pins_twice : base {
  void host_register(void* ptr, std::size_t size) {
    try {
      host_runtime::host_register(ptr, size);
    } catch (const invalid_argument&) {  // NOLINT(bugprone-empty-catch)
    }
  }
};

struct is_its_own_peer : base {
  bool peer_can_access(int32_t, int32_t) { return true; }
};

struct wraps_a_new_stream : base {
  outback_stream native_wrap_stream(int32_t d, void*) { return stream_create(d, 0); }
};

struct opens_a_copy : base {
  void* ipc_open_memory(int32_t d, const outback_ipc_handle& handle) {
    const void* there = host_runtime::ipc_open_memory(d, handle);
    void*& copy = copies[there];
    const std::size_t size = host_info(there).size;
    if (copy == nullptr) copy = mem_alloc(d, size);
    std::memcpy(copy, there, size);
    return copy;
  }
  void ipc_close_memory(int32_t, void*) {}
  std::map<const void*, void*> copies;
};

struct opens_its_own : base {
  void* ipc_open_memory(int32_t d, const outback_ipc_handle& handle) {
    try {
      return host_runtime::ipc_open_memory(d, handle);
    } catch (const invalid_argument&) {
      return mem_alloc(d, 64);
    }
  }
};

struct opens_a_new_event : base {
  outback_event ipc_open_event(int32_t d, const outback_ipc_handle&) { return event_create(d, 0); }
};

struct shares_any_event : base {
  outback_ipc_handle ipc_get_event(int32_t, outback_event) { return {}; }
};

struct knows_every_metric : base {
  int64_t telemetry_read(int32_t, outback_metric) { return 0; }
};

template <class Faulty>
const outback_runtime* table_of_a() {
  return table_of(*new Faulty);
}

// What no class can get wrong, since the table's own slots do it.
outback_runtime whole() {
  return *table_of_a<base>();
}

const outback_runtime* shared_error_text() {
  static std::string text;
  static outback_runtime table = whole();
  table.last_error = [](void*) { return text.c_str(); };
  table.device_sync = [](void*, int32_t d) -> outback_status {
    if (d == 0) return OUTBACK_OK;
    text = "the text of whoever came last";
    return OUTBACK_INVALID_ARGUMENT;
  };
  return &table;
}

const outback_runtime* touches_outputs_on_failure() {
  static const outback_runtime good = whole();
  static outback_runtime table = good;
  table.mem_alloc = [](void* self, int32_t d, std::size_t size, void** ptr) {
    const outback_status status = good.mem_alloc(self, d, size, ptr);
    if (status != OUTBACK_OK && ptr != nullptr) *ptr = nullptr;
    return status;
  };
  return &table;
}

const outback_runtime* ignores_struct_size() {
  static const outback_runtime good = whole();
  static outback_runtime table = good;
  table.device_info = [](void* self, int32_t d, outback_device_info* info) {
    if (info == nullptr) return outback_status{OUTBACK_INVALID_ARGUMENT};
    const uint32_t size = std::exchange(info->struct_size, sizeof(*info));
    const outback_status status = good.device_info(self, d, info);
    info->struct_size = size;
    return status;
  };
  return &table;
}

#define FAULT(name) {#name, table_of_a<name>}
const std::map<std::string, const outback_runtime* (*)()> faults = {
    {"none", table_of_a<base>},
    FAULT(reads_the_source_late),
    FAULT(small_copies_overtake),
    FAULT(copies_whole_words_only),
    FAULT(fills_with_the_first_byte),
    FAULT(fills_too_far),
    FAULT(query_is_always_ready),
    FAULT(sync_does_nothing),
    FAULT(device_sync_waits_for_the_default_stream),
    FAULT(wait_does_nothing),
    FAULT(wait_looks_late),
    FAULT(event_query_is_always_ready),
    FAULT(records_only_once),
    FAULT(elapsed_in_microseconds),
    FAULT(forgets_what_is_freed),
    FAULT(has_no_limit),
    FAULT(takes_any_device),
    FAULT(knows_no_interior_pointers),
    FAULT(registers_nothing),
    FAULT(pins_twice),
    FAULT(is_its_own_peer),
    FAULT(wraps_a_new_stream),
    FAULT(opens_a_copy),
    FAULT(opens_its_own),
    FAULT(opens_a_new_event),
    FAULT(shares_any_event),
    FAULT(knows_every_metric),
    {"shared_error_text", shared_error_text},
    {"touches_outputs_on_failure", touches_outputs_on_failure},
    {"ignores_struct_size", ignores_struct_size},
};

}  // namespace
}  // namespace outback::host

extern "C" const outback_runtime* outback_test_faulty(void) {
  static const outback_runtime* table = [] {
    const char* name = std::getenv("OUTBACK_TEST_FAULT");
    const auto found = outback::host::faults.find(name == nullptr ? "none" : name);
    if (found == outback::host::faults.end()) {
      std::fprintf(stderr, "OUTBACK_TEST_FAULT=%s: no such fault\n", name);
      std::exit(3);
    }
    return found->second();
  }();
  return table;
}
