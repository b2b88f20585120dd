// Runtimes whose answers cannot be, which shows without touching memory; and some that end the
// process, or keep it.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>

#include "tests/runtime/faulty_base.hpp"
#include "tests/runtime/open_table.hpp"

namespace outback::host::faulty {
namespace {

struct counts_below_zero : base {
  int32_t device_count() { return -3; }
};

struct counts_none : base {
  int32_t device_count() { return 0; }
};

struct counts_too_many : base {
  int32_t device_count() { return 200; }
  outback_device_info device_info(int32_t d) { return base::device_info(d % 2); }
};

struct counts_differently : base {
  int32_t device_count() { return calls++ == 0 ? 2 : 1; }
  std::atomic<int> calls{0};
};

struct counts_never : base {
  int32_t device_count() { throw runtime_error(OUTBACK_INTERNAL, "the driver is asleep"); }
};

// What device 1 says of itself; device 0 is right.
template <void (*Change)(outback_device_info&)>
struct describes : base {
  outback_device_info device_info(int32_t d) {
    outback_device_info info = base::device_info(d);
    if (d == 1) Change(info);
    return info;
  }
};

void without_memory(outback_device_info& info) {
  info.memory_size = info.max_alloc_size = 0;
}
void with_more_than_there_is(outback_device_info& info) {
  info.max_alloc_size = info.memory_size + 1;
}
void oddly_aligned(outback_device_info& info) {
  info.alignment = 96;
}
void barely_aligned(outback_device_info& info) {
  info.alignment = 32;
}
void with_kernels_out_of_reach(outback_device_info& info) {
  info.kernels_of = 1;
  info.flags &= ~uint32_t{OUTBACK_HOST_ADDRESSABLE};
}
void with_an_endless_name(outback_device_info& info) {
  std::memset(info.name, 'x', sizeof(info.name));
}
void with_a_latin_name(outback_device_info& info) {
  std::strcpy(info.name, "Ger\xe4t");
}
void with_an_endless_pci_id(outback_device_info& info) {
  std::memset(info.pci_id, '0', sizeof(info.pci_id));
}

struct allocates_misaligned : base {
  void* mem_alloc(int32_t d, std::size_t size) {
    return static_cast<std::byte*>(base::mem_alloc(d, size + 64)) + 16;
  }
  void mem_free(int32_t d, void* ptr) {
    base::mem_free(d, ptr == nullptr ? ptr : static_cast<std::byte*>(ptr) - 16);
  }
};

struct allocates_twice : base {
  void* mem_alloc(int32_t d, std::size_t size) {
    if (first == nullptr) first = base::mem_alloc(d, std::max(size, std::size_t{64} << 20));
    return first;
  }
  void mem_free(int32_t, void*) {}
  void* first = nullptr;
};

void* at_address(uintptr_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

// Where no process can have any: the kernel's half of the addresses.
void* no_memory() {
  return at_address(uintptr_t{1} << 63);
}

struct allocates_nowhere : base {
  void* mem_alloc(int32_t, std::size_t) { return no_memory(); }
  void mem_free(int32_t, void*) {}
  void mem_copy(void*, int32_t, const void*, int32_t, std::size_t, outback_stream) {}
};

// The end of it is nobody's.
struct pins_too_little : base {
  void* host_alloc(std::size_t size) {
    constexpr std::size_t page = 65536;
    const std::size_t whole = (size + page - 1) / page * page;
    void* const all =
        mmap(nullptr, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void* const end = static_cast<std::byte*>(all) + whole;
    munmap(end, page);
    return static_cast<std::byte*>(end) - 64;
  }
  void host_free(void*) {}
};

struct has_many_priorities : base {
  priority_range stream_priorities(int32_t) { return {.least = 10, .greatest = -10}; }
};

struct changes_its_priorities : base {
  priority_range stream_priorities(int32_t) { return {.least = 0, .greatest = -calls++}; }
  std::atomic<int> calls{0};
};

struct pins_misaligned : base {
  void* host_alloc(std::size_t size) {
    return static_cast<std::byte*>(base::host_alloc(size + 64)) + 8;
  }
  void host_free(void* ptr) { base::host_free(static_cast<std::byte*>(ptr) - 8); }
};

struct orders_priorities_backwards : base {
  priority_range stream_priorities(int32_t) { return {.least = -1, .greatest = 1}; }
};

struct makes_one_stream : base {
  outback_stream stream_create(int32_t d, int32_t priority) {
    if (only == nullptr) only = base::stream_create(d, priority);
    return only;
  }
  outback_stream only = nullptr;
};

// What it says of any pointer.
template <void (*Change)(outback_pointer_info&)>
struct points : base {
  outback_pointer_info host_info(const void* ptr) {
    outback_pointer_info info = base::host_info(ptr);
    Change(info);
    return info;
  }
};

void pins_more_than_all(outback_pointer_info& info) {
  info.pinned = 77;
}
void holds_other_memory(outback_pointer_info& info) {
  static char other[64];
  info.pinned = 1;
  info.base = other;
  info.size = sizeof(other);
}

struct points_to_no_device : base {
  outback_pointer_info host_info(const void* ptr) {
    outback_pointer_info info = base::host_info(ptr);
    info.device = 7;
    return info;
  }
};

// A fault as of a wild pointer.
struct dies_in_a_fill : base {
  void mem_fill(int32_t, void*, std::size_t, const void*, std::size_t, outback_stream) {
    *static_cast<volatile int*>(at_address(8)) = 1;
  }
};

struct aborts_in_a_fill : base {
  void mem_fill(int32_t, void*, std::size_t, const void*, std::size_t, outback_stream) noexcept {
    std::terminate();
  }
};

struct exits_in_a_fill : base {
  void mem_fill(int32_t, void*, std::size_t, const void*, std::size_t, outback_stream) {
    std::exit(0);
  }
};

struct quits_in_a_fill : base {
  void mem_fill(int32_t, void*, std::size_t, const void*, std::size_t, outback_stream) { _exit(0); }
};

struct becomes_another_program : base {
  void mem_fill(int32_t, void*, std::size_t, const void*, std::size_t, outback_stream) {
    execl("/bin/sh", "sh", "-c", "exit 0", nullptr);
  }
};

// The tests fail, and nobody is to know.
struct quits_when_all_is_over : base {
  void mem_fill(int32_t, void*, std::size_t, const void*, std::size_t, outback_stream) {
    std::atexit([] { _exit(0); });
  }
};

struct hangs_in_a_fill : base {
  void mem_fill(int32_t, void*, std::size_t, const void*, std::size_t, outback_stream) {
    for (;;) pause();
  }
};

struct dies_of_its_properties : base {
  outback_device_info device_info(int32_t d) {
    if (d == 1) *static_cast<volatile int*>(at_address(8)) = 1;
    return base::device_info(d);
  }
};

// ---- What a table that is filled by hand can do, and no class: succeed and write nothing.

open_table& opened() {
  static auto& it = *new open_table(*table_of_a<base>());
  return it;
}

// Any slot.
template <class... Arguments>
outback_status write_nothing(void*, Arguments...) {
  return OUTBACK_OK;
}

const outback_runtime* says_nothing_of(std::string_view what) {
  open_table& t = opened();
  if (what == "count") t.runtime.device_count = write_nothing;
  if (what == "info") t.runtime.device_info = write_nothing;
  if (what == "memory") t.runtime.mem_alloc = write_nothing;
  if (what == "error") t.runtime.last_error = [](void*) -> const char* { return nullptr; };
  if (what == "anything_else") {
    t.streams.create = write_nothing;
    t.streams.priorities = write_nothing;
    t.events.create = write_nothing;
    t.host_memory.alloc = write_nothing;
    t.device_state.is_active = write_nothing;
    t.device_state.memory_usage = write_nothing;
    t.peer.can_access = write_nothing;
    t.native.device = write_nothing;
    t.native.context = write_nothing;
    t.native.stream = write_nothing;
    t.native.wrap_stream = write_nothing;
    t.telemetry.read = write_nothing;
    t.telemetry.processes = write_nothing;
    t.activity.read = write_nothing;
    t.activity.clock = write_nothing;
    t.activity.stream = write_nothing;
    t.activity.pop = write_nothing;
  }
  if (what == "pointers") t.host_memory.info = write_nothing;
  if (what == "captures") t.graphs.status = write_nothing;
  if (what == "elapsed") t.events.elapsed = write_nothing;
  return &t.runtime;
}

// The answer of queries alone.
const outback_runtime* is_never_ready() {
  open_table& t = opened();
  t.runtime.mem_alloc = [](void*, int32_t, std::size_t, void**) -> outback_status {
    return OUTBACK_NOT_READY;
  };
  return &t.runtime;
}

// A text that Python cannot take as it is.
const outback_runtime* fails_in_latin() {
  open_table& t = opened();
  t.runtime.last_error = [](void*) { return "Ger\xe4t antwortet nicht"; };
  t.runtime.mem_alloc = [](void*, int32_t, std::size_t, void**) -> outback_status { return 77; };
  return &t.runtime;
}

}  // namespace

const faults& faulty_answers() {
#define FAULT(name) {#name, table_of_a<name>}
// NOLINTNEXTLINE(bugprone-macro-parentheses)
#define DESCRIBED(name) {#name, table_of_a<describes<&name>>}
#define SILENT(what) {"says_nothing_of_" #what, [] { return says_nothing_of(#what); }}
  static const faults all = {
      FAULT(counts_below_zero),
      FAULT(counts_none),
      FAULT(counts_too_many),
      FAULT(counts_differently),
      FAULT(counts_never),
      {"is_never_ready", is_never_ready},
      DESCRIBED(without_memory),
      DESCRIBED(with_more_than_there_is),
      DESCRIBED(oddly_aligned),
      DESCRIBED(barely_aligned),
      DESCRIBED(with_kernels_out_of_reach),
      DESCRIBED(with_an_endless_name),
      DESCRIBED(with_a_latin_name),
      DESCRIBED(with_an_endless_pci_id),
      FAULT(allocates_misaligned),
      FAULT(allocates_twice),
      FAULT(allocates_nowhere),
      FAULT(pins_too_little),
      FAULT(has_many_priorities),
      FAULT(changes_its_priorities),
      FAULT(pins_misaligned),
      FAULT(orders_priorities_backwards),
      FAULT(makes_one_stream),
      {"pins_more_than_all", table_of_a<points<&pins_more_than_all>>},
      {"holds_other_memory", table_of_a<points<&holds_other_memory>>},
      FAULT(points_to_no_device),
      FAULT(dies_in_a_fill),
      FAULT(aborts_in_a_fill),
      FAULT(exits_in_a_fill),
      FAULT(quits_in_a_fill),
      FAULT(becomes_another_program),
      FAULT(quits_when_all_is_over),
      FAULT(hangs_in_a_fill),
      FAULT(dies_of_its_properties),
      SILENT(count),
      SILENT(info),
      SILENT(memory),
      SILENT(error),
      SILENT(pointers),
      SILENT(captures),
      SILENT(elapsed),
      SILENT(anything_else),
      {"fails_in_latin", fails_in_latin},
  };
#undef FAULT
#undef DESCRIBED
#undef SILENT
  return all;
}

}  // namespace outback::host::faulty
