// Runtimes that are wrong in one way each, to prove that the suite notices. OUTBACK_TEST_FAULT says
// in which.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/runtime/faulty_base.hpp"

namespace outback::host::faulty {
namespace {

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

// The same with the threads of streams: what is not staged is read when the stream gets there.
struct stages_nothing : base {
  void mem_copy(void* dst, int32_t dst_device, const void* src, int32_t src_device,
                std::size_t size, outback_stream s) {
    if (src_device == OUTBACK_HOST && s != nullptr) {
      of(s).enqueue([=] { std::memcpy(dst, src, size); });
    } else {
      host_runtime::mem_copy(dst, dst_device, src, src_device, size, s);
    }
  }
};

// Work that goes to a stream nobody asked for, so that it comes too early or too late.
struct strays : base {
  outback_stream other(int32_t d) {
    const std::lock_guard lock(mutex);
    outback_stream& s = streams[d];
    if (s == nullptr) s = stream_create(d, 0);
    return s;
  }
  std::mutex mutex;
  std::map<int32_t, outback_stream> streams;
};

struct fills_stray : strays {
  void mem_fill(int32_t d, void* ptr, std::size_t size, const void* pattern, std::size_t width,
                outback_stream) {
    host_runtime::mem_fill(d, ptr, size, pattern, width, other(d));
  }
};

struct copies_between_devices_stray : strays {
  void mem_copy(void* dst, int32_t dst_device, const void* src, int32_t src_device,
                std::size_t size, outback_stream s) {
    const bool between = dst_device >= 0 && src_device >= 0 && dst_device != src_device;
    host_runtime::mem_copy(dst, dst_device, src, src_device, size, between ? other(src_device) : s);
  }
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

struct wait_for_another_device_does_nothing : base {
  void event_wait(int32_t d, outback_event e, outback_stream s) {
    if (reinterpret_cast<event*>(e)->device() == d) host_runtime::event_wait(d, e, s);
  }
};

struct event_query_is_never_ready : base {
  bool event_query(int32_t, outback_event) { return false; }
};

struct leaks_events : base {
  void event_destroy(int32_t, outback_event) {}
};

struct leaks_streams : base {
  void stream_destroy(int32_t, outback_stream) {}
};

struct leaks_pinned_memory : base {
  void host_free(void*) {}
};

struct leaks_descriptors : base {
  outback_event event_create(int32_t d, uint32_t flags) {
    if (++made % 64 == 0) static_cast<void>(dup(0));
    return host_runtime::event_create(d, flags);
  }
  std::atomic<int> made{0};
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

struct counts_in_a_circle : base {
  void* mem_alloc(int32_t d, std::size_t size) {
    if (used + size > options.memory_size) throw out_of_memory("more than there is");
    if (void* ptr = host_runtime::mem_alloc(d, std::min<std::size_t>(size, 64))) {
      used += size;
      return ptr;
    }
    return nullptr;
  }
  std::size_t used = 0;
};

struct takes_any_device : base {
  void device_sync(int32_t d) { host_runtime::device_sync(d < 0 || d >= 2 ? 0 : d); }
};

struct knows_no_interior_pointers : base {
  outback_pointer_info host_info(const void* ptr) {
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

struct callbacks_run_at_once : base {
  void callback_enqueue(int32_t, outback_callback callback, void* data, outback_stream) {
    std::thread(callback, data).detach();
  }
};

struct captured_work_runs : base {
  void mem_fill(int32_t d, void* ptr, std::size_t size, const void* pattern, std::size_t width,
                outback_stream s) {
    host_runtime::mem_fill(d, ptr, size, pattern, width, s);
    if (graph_status(d, s) == OUTBACK_CAPTURE_ACTIVE)
      host_runtime::mem_fill(d, ptr, size, pattern, width, nullptr);
  }
};

// Joins, at the end, what the caller did not.
struct sees_no_unjoined_stream : base {
  outback_stream stream_create(int32_t d, int32_t priority) {
    return streams.emplace_back(host_runtime::stream_create(d, priority));
  }
  outback_graph graph_end(int32_t d, outback_stream first) {
    const outback_event e = event_create(d, 0);
    for (const outback_stream s : streams) {
      if (s == first || graph_status(d, s) != OUTBACK_CAPTURE_ACTIVE) continue;
      event_record(d, e, s);
      event_wait(d, e, first);
    }
    event_destroy(d, e);
    return host_runtime::graph_end(d, first);
  }
  std::vector<outback_stream> streams;
};

struct syncs_a_captured_stream : base {
  void stream_sync(int32_t d, outback_stream s) {
    if (graph_status(d, s) == OUTBACK_CAPTURE_NONE) host_runtime::stream_sync(d, s);
  }
};

// Each launch is of a copy of the graph: no launch knows of the others.
struct launches_overlap : base {
  outback_graph graph_end(int32_t, outback_stream s) {
    return reinterpret_cast<outback_graph>(new std::shared_ptr<const recording>(
        std::make_shared<const recording>(of(s).end_capture())));
  }
  static auto& of_graph(outback_graph g) {
    return *reinterpret_cast<std::shared_ptr<const recording>*>(g);
  }
  void graph_instantiate(int32_t, outback_graph) {}
  void graph_launch(int32_t, outback_graph g, outback_stream s) {
    of(s).enqueue([work = of_graph(g)] { work->run(); });
  }
  void graph_destroy(int32_t, outback_graph g) { delete &of_graph(g); }
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

// Replaces the memory by a copy, a while after it made the copy.
struct shares_an_older_state : base {
  outback_ipc_handle ipc_get_memory(int32_t d, void* ptr) {
    std::vector<std::byte> before(host_info(ptr).size);
    std::memcpy(before.data(), ptr, before.size());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::memcpy(ptr, before.data(), before.size());
    return host_runtime::ipc_get_memory(d, ptr);
  }
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

struct lists_no_process : base {
  std::vector<outback_process> telemetry_processes(int32_t) { return {{.pid = 0, .memory = 0}}; }
};

struct knows_every_metric : base {
  int64_t telemetry_read(int32_t, outback_metric) { return 0; }
};

struct records_without_a_recording : base {
  void activity_stop(int32_t) {}
};

struct calls_all_streams_one : base {
  uint64_t activity_stream(int32_t, outback_stream) { return 1; }
};

struct forgets_whose_work_it_is : base {
  void activity_push(uint64_t) { base::activity_push(0); }
};

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

// Of any slot: zeros in every output when it failed.
template <class Argument>
void meddle(Argument) {}
template <class Output>
  requires(!std::is_const_v<Output> && !std::is_void_v<Output> && requires { sizeof(Output); })
void meddle(Output* out) {
  if (out != nullptr) std::memset(static_cast<void*>(out), 0, sizeof(*out));
}

template <auto Slot>
struct meddling;
template <class Group, class... Arguments, outback_status (*Group::*Slot)(void*, Arguments...)>
struct meddling<Slot> {
  static inline outback_status (*good)(void*, Arguments...) = nullptr;
  static outback_status call(void* self, Arguments... arguments) {
    const outback_status status = good(self, arguments...);
    if (status > OUTBACK_NOT_READY) (meddle(arguments), ...);
    return status;
  }
  static void into(Group& group) { good = std::exchange(group.*Slot, call); }
};

template <auto... Slots, class Group>
const Group* meddled(const Group* good) {
  if (good == nullptr) return nullptr;
  static Group group = *good;
  (meddling<Slots>::into(group), ...);
  return &group;
}

const outback_runtime* meddles_with_every_output() {
  static outback_runtime t = whole();
  meddling<&outback_runtime::device_info>::into(t);
  meddling<&outback_runtime::mem_alloc>::into(t);
  t.streams = meddled<&outback_streams::create, &outback_streams::priorities>(t.streams);
  t.events = meddled<&outback_events::create, &outback_events::elapsed>(t.events);
  t.host_memory = meddled<&outback_host_memory::alloc>(t.host_memory);
  t.device_state = meddled<&outback_device_state::is_active, &outback_device_state::memory_usage>(
      t.device_state);
  t.peer = meddled<&outback_peer::can_access>(t.peer);
  t.native = meddled<&outback_native::device, &outback_native::context, &outback_native::stream,
                     &outback_native::event, &outback_native::wrap_stream>(t.native);
  t.ipc = meddled<&outback_ipc::get_memory, &outback_ipc::open_memory, &outback_ipc::get_event,
                  &outback_ipc::open_event>(t.ipc);
  t.graphs = meddled<&outback_graphs::status, &outback_graphs::end>(t.graphs);
  t.telemetry = meddled<&outback_telemetry::read, &outback_telemetry::processes>(t.telemetry);
  t.activity = meddled<&outback_activity::read, &outback_activity::clock, &outback_activity::stream,
                       &outback_activity::pop>(t.activity);
  return &t;
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
const faults faulty_work = {
    {"none", table_of_a<base>},
    FAULT(reads_the_source_late),
    FAULT(stages_nothing),
    FAULT(fills_stray),
    FAULT(copies_between_devices_stray),
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
    FAULT(wait_for_another_device_does_nothing),
    FAULT(event_query_is_never_ready),
    FAULT(leaks_events),
    FAULT(leaks_streams),
    FAULT(leaks_pinned_memory),
    FAULT(leaks_descriptors),
    FAULT(elapsed_in_microseconds),
    FAULT(forgets_what_is_freed),
    FAULT(has_no_limit),
    FAULT(counts_in_a_circle),
    FAULT(takes_any_device),
    FAULT(knows_no_interior_pointers),
    FAULT(callbacks_run_at_once),
    FAULT(captured_work_runs),
    FAULT(sees_no_unjoined_stream),
    FAULT(syncs_a_captured_stream),
    FAULT(launches_overlap),
    FAULT(registers_nothing),
    FAULT(pins_twice),
    FAULT(is_its_own_peer),
    FAULT(wraps_a_new_stream),
    FAULT(opens_a_copy),
    FAULT(shares_an_older_state),
    FAULT(opens_its_own),
    FAULT(opens_a_new_event),
    FAULT(shares_any_event),
    FAULT(knows_every_metric),
    FAULT(lists_no_process),
    FAULT(records_without_a_recording),
    FAULT(calls_all_streams_one),
    FAULT(forgets_whose_work_it_is),
    {"shared_error_text", shared_error_text},
    {"touches_outputs_on_failure", touches_outputs_on_failure},
    {"meddles_with_every_output", meddles_with_every_output},
    {"ignores_struct_size", ignores_struct_size},
};

}  // namespace
}  // namespace outback::host::faulty

extern "C" const outback_runtime* outback_test_takes_any_device(void) {
  static const outback_runtime* table =
      outback::host::faulty::table_of_a<outback::host::faulty::takes_any_device>();
  return table;
}

extern "C" const outback_runtime* outback_test_faulty(void) {
  static const outback_runtime* table = [] {
    const char* name = std::getenv("OUTBACK_TEST_FAULT");
    for (const auto* all :
         {&outback::host::faulty::faulty_work, &outback::host::faulty::faulty_answers()}) {
      const auto found = all->find(name == nullptr ? "none" : name);
      if (found != all->end()) return found->second();
    }
    std::fprintf(stderr, "OUTBACK_TEST_FAULT=%s: no such fault\n", name);
    std::exit(3);
  }();
  return table;
}
