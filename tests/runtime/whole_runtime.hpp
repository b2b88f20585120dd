// A runtime with all groups, each as simple as it can be: what tests take that need a whole table.
//
// Its memory is the host's, but it does not say so: no device reads another's memory or the host's.
// All work is done when the call returns. Every handle and pointer is looked up before it is used,
// so nonsense is refused here too. Two objects are to each other what two processes are: what one
// got an IPC handle for, the other one can open.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "outback/runtime.hpp"

namespace outback {

/// What a member of a class returns that does nothing.
template <class Result>
Result nothing() {
  return Result();
}

/// What whole_runtime does not do itself: each member of the list of slots, which does nothing.
class every_member {
 public:
  /// Called first by every member, before it looks at anything. What it throws is the answer.
  std::function<void()> on_call = [] {};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define OUTBACK_X(group, slot, member, result, parameters, ...) \
  result member parameters { return on_call(), nothing<result>(); }
#define OUTBACK_OF_GROUP(group, ...) OUTBACK_SLOTS_OF_##group(OUTBACK_X)
  OUTBACK_GROUPS(OUTBACK_OF_GROUP)
#undef OUTBACK_OF_GROUP
#undef OUTBACK_X
#pragma GCC diagnostic pop
};

/// May be called from any thread; the work of two threads runs in the order in which they come.
class whole_runtime : public every_member {
 public:
  explicit whole_runtime(int32_t devices = 2) : streams_of_(std::size_t(devices)) {
    for (int32_t d = 0; d < devices; ++d) streams_of_[std::size_t(d)].device = d;
    const std::lock_guard lock(processes().mutex);
    number_ = ++processes().last;
    processes().all[number_] = this;
  }
  ~whole_runtime() {
    {
      const std::lock_guard lock(processes().mutex);
      processes().all.erase(number_);
    }
    for (const auto& [ptr, given] : memory_) std::free(ptr);
    for (const auto& [ptr, given] : pinned_) {
      if (given.ours) std::free(ptr);
    }
  }
  whole_runtime(const whole_runtime&) = delete;
  whole_runtime& operator=(const whole_runtime&) = delete;

  int32_t device_count() { return on_call(), int32_t(streams_of_.size()); }
  outback_device_info device_info(int32_t d) {
    enter(d);
    outback_device_info info = {};
    info.memory_size = info.max_alloc_size = memory_size;
    info.alignment = 64;
    std::strcpy(info.name, "Outback whole device");
    return info;
  }
  void device_sync(int32_t d) {
    const auto lock = enter(d);
    check_idle(streams_of_[std::size_t(d)]);
    for (const auto& [handle, s] : streams_) {
      if (s->device == d) check_idle(*s);
    }
  }

  void* mem_alloc(int32_t d, std::size_t size) {
    const auto lock = enter(d);
    if (size > memory_size - used(d)) throw out_of_memory("more than there is");
    void* ptr = allocate(size);
    if (ptr != nullptr) memory_[ptr] = {d, size};
    return ptr;
  }
  void mem_free(int32_t d, void* ptr) {
    const auto lock = enter(d);
    if (ptr == nullptr) return;
    const auto found = memory_.find(ptr);
    if (found == memory_.end() || found->second.device != d) {
      throw invalid_argument("the pointer is no allocation of this device");
    }
    memory_.erase(found);
    std::free(ptr);
  }
  void mem_copy(void* dst, int32_t dst_device, const void* src, int32_t src_device,
                std::size_t size, outback_stream where) {
    const bool from_host = src_device == OUTBACK_HOST, to_host = dst_device == OUTBACK_HOST;
    const auto lock = enter(from_host ? dst_device : src_device);
    if (!to_host) check_device(dst_device, int32_t(streams_of_.size()));
    stream& s = at(from_host ? dst_device : src_device, where);
    if (size == 0) return;
    if (!to_host) check_range(dst_device, dst, size);
    if (!from_host) check_range(src_device, src, size);
    if (s.in && ((from_host && !is_pinned(src)) || (to_host && !is_pinned(dst)))) {
      s.in->broken = true;
      throw invalid_argument("a copy from or to pageable memory is in a capture");
    }
    const outback_record_kind kind = from_host                  ? OUTBACK_RECORD_COPY_TO_DEVICE
                                     : to_host                  ? OUTBACK_RECORD_COPY_TO_HOST
                                     : dst_device == src_device ? OUTBACK_RECORD_COPY_WITHIN
                                                                : OUTBACK_RECORD_COPY_BETWEEN;
    submit(s, [=] { std::memcpy(dst, src, size); });
    note(s, kind, size);
  }
  void mem_fill(int32_t d, void* ptr, std::size_t size, const void* pattern, std::size_t width,
                outback_stream where) {
    const auto lock = enter(d);
    stream& s = at(d, where);
    if (size == 0) return;
    check_range(d, ptr, size);
    uint64_t word = 0;
    std::memcpy(&word, pattern, width);
    submit(s, [=] {
      for (std::size_t i = 0; i < size; i += width) {
        std::memcpy(static_cast<std::byte*>(ptr) + i, &word, width);
      }
    });
    note(s, OUTBACK_RECORD_FILL, size);
  }

  outback_stream stream_create(int32_t d, int32_t) { return native_wrap_stream(d, nullptr); }
  void stream_destroy(int32_t d, outback_stream handle) {
    const auto lock = enter(d);
    if (handle == nullptr) throw invalid_argument("the default stream stays");
    stream& s = at(d, handle);
    if (s.in) {
      s.in->broken = true;
      if (s.in->origin == &s) leave(*s.in);  // nobody can end it any more
    }
    streams_.erase(handle);
  }
  bool stream_query(int32_t d, outback_stream handle) {
    const auto lock = enter(d);
    return check_idle(at(d, handle)), true;
  }
  void stream_sync(int32_t d, outback_stream handle) { stream_query(d, handle); }
  priority_range stream_priorities(int32_t d) { return enter(d), priority_range{0, 0}; }

  outback_event event_create(int32_t d, uint32_t flags) {
    const auto lock = enter(d);
    return keep(events_, event{d, flags, std::make_shared<record>(), nullptr, nullptr, 0});
  }
  void event_destroy(int32_t d, outback_event handle) {
    const auto lock = enter(d);
    at(d, handle), events_.erase(handle);
  }
  void event_record(int32_t d, outback_event handle, outback_stream where) {
    const auto lock = enter(d);
    event& e = at(d, handle);
    stream& s = at(d, where);
    e.in = s.in;
    if (s.in) {
      check_whole(*s.in);
      e.recorded_on = &s;
      e.position = s.in->work.size();
    } else {
      e.last->time = std::chrono::steady_clock::now().time_since_epoch();
    }
  }
  void event_wait(int32_t d, outback_event handle, outback_stream where) {
    const auto lock = enter(d);
    const event& e = at(handle);
    stream& s = at(d, where);
    if (!e.in || e.in->over) return;
    if (s.in && s.in != e.in) {
      s.in->broken = e.in->broken = true;
      throw invalid_argument("the event is of another capture");
    }
    check_whole(*e.in);
    s.in = e.in;
    const auto left = s.in->apart.find(e.recorded_on);
    if (left != s.in->apart.end() && left->second <= e.position) s.in->apart.erase(left);
    if (s.in->origin != &s) s.in->apart[&s] = s.in->work.size();
  }
  bool event_query(int32_t d, outback_event handle) {
    const auto lock = enter(d);
    const event& e = at(d, handle);
    if (e.in && !e.in->over) {
      e.in->broken = true;
      throw invalid_argument("the event is of a capture");
    }
    return true;
  }
  void event_sync(int32_t d, outback_event handle) { event_query(d, handle); }
  std::optional<int64_t> event_elapsed(outback_event from, outback_event to) {
    on_call();
    const std::lock_guard lock(mutex_);
    for (const outback_event each : {from, to}) {
      const event& e = at(each);
      if ((e.flags & OUTBACK_EVENT_TIMING) == 0 || !e.last->time) {
        throw invalid_argument("the event has no time");
      }
    }
    if (at(from).device != at(to).device) throw invalid_argument("the events are of two devices");
    return std::chrono::nanoseconds(*at(to).last->time - *at(from).last->time).count();
  }

  void* host_alloc(std::size_t size) {
    on_call();
    const std::lock_guard lock(mutex_);
    if (size > memory_size) throw out_of_memory("more than there is");
    void* ptr = allocate(size);
    if (ptr != nullptr) pinned_[ptr] = {size, true};
    return ptr;
  }
  void host_free(void* ptr) {
    on_call();
    const std::lock_guard lock(mutex_);
    if (ptr == nullptr) return;
    take_pinned(ptr, true);
    std::free(ptr);
  }
  outback_pointer_info host_info(const void* ptr) {
    on_call();
    const std::lock_guard lock(mutex_);
    outback_pointer_info info = {};
    info.device = OUTBACK_HOST;
    const auto tell = [&](int32_t device, void* base, std::size_t size) {
      if (!holds(base, size, ptr, 0)) return;
      info.device = device;
      info.pinned = device == OUTBACK_HOST ? 1 : 0;
      info.base = base;
      info.size = size;
    };
    for (const auto& [base, given] : memory_) tell(given.device, base, given.size);
    for (const auto& [where, given] : opened_) tell(where.first, where.second, given.size);
    for (const auto& [base, given] : pinned_) tell(OUTBACK_HOST, base, given.size);
    return info;
  }

  void device_select(int32_t d) { enter(d); }
  bool device_is_active(int32_t d) { return enter(d), true; }
  memory_amount memory_usage(int32_t d) {
    const auto lock = enter(d);
    return {memory_size - used(d), memory_size};
  }

  void host_register(void* ptr, std::size_t size) {
    on_call();
    const std::lock_guard lock(mutex_);
    const auto begin = address(ptr);
    if (size > UINTPTR_MAX - begin) throw invalid_argument("the range has no end");
    for (const auto& [base, given] : pinned_) {
      if (begin < address(base) + given.size && address(base) < begin + size) {
        throw invalid_argument("the range is pinned already");
      }
    }
    pinned_[ptr] = {size, false};
  }
  void host_unregister(void* ptr) {
    on_call();
    const std::lock_guard lock(mutex_);
    take_pinned(ptr, false);
  }

  bool peer_can_access(int32_t d, int32_t peer) {
    const auto lock = enter(d);
    check_device(peer, int32_t(streams_of_.size()));
    return d != peer;
  }
  void peer_enable(int32_t d, int32_t peer) { peer_can_access(d, peer); }
  void peer_disable(int32_t d, int32_t peer) { peer_can_access(d, peer); }

  void* native_device(int32_t d) {
    const auto lock = enter(d);
    return &streams_of_[std::size_t(d)];
  }
  void* native_context(int32_t d) {
    const auto lock = enter(d);
    return this;
  }
  void* native_stream(int32_t d, outback_stream handle) {
    const auto lock = enter(d);
    return &at(d, handle);
  }
  void* native_event(int32_t d, outback_event handle) {
    const auto lock = enter(d);
    return &at(d, handle);
  }
  outback_stream native_wrap_stream(int32_t d, void*) {
    const auto lock = enter(d);
    return keep(streams_, stream{d, nullptr});
  }

  void callback_enqueue(int32_t d, outback_callback callback, void* data, outback_stream where) {
    auto lock = enter(d);
    stream& s = at(d, where);
    const auto work = [=] { std::thread(callback, data).join(); };
    if (s.in) return submit(s, work);
    lock.unlock();
    work();
  }

  outback_ipc_handle ipc_get_memory(int32_t d, void* ptr) {
    const auto lock = enter(d);
    const auto found = memory_.find(ptr);
    if (found == memory_.end() || found->second.device != d) {
      throw invalid_argument("the pointer is no allocation of this device");
    }
    return handle_of({number_, address(ptr), found->second.size});
  }
  void* ipc_open_memory(int32_t d, const outback_ipc_handle& handle) {
    enter(d);
    const named what = named_by(handle);
    void* const ptr = of_other_process(what, [&](whole_runtime& owner) {
      const auto found = owner.memory_.find(reinterpret_cast<void*>(what.object));
      if (found == owner.memory_.end() || found->second.size != what.size) {
        throw invalid_argument("the handle names no memory");
      }
      return found->first;
    });
    const std::lock_guard lock(mutex_);
    opened& o = opened_[{d, ptr}];
    o.size = what.size;
    ++o.times;
    return ptr;
  }
  void ipc_close_memory(int32_t d, void* ptr) {
    const auto lock = enter(d);
    const auto found = opened_.find({d, ptr});
    if (found == opened_.end()) throw invalid_argument("the pointer was not opened");
    if (--found->second.times == 0) opened_.erase(found);
  }
  outback_ipc_handle ipc_get_event(int32_t d, outback_event handle) {
    const auto lock = enter(d);
    constexpr uint32_t asked = OUTBACK_EVENT_INTERPROCESS | OUTBACK_EVENT_TIMING;
    if ((at(d, handle).flags & asked) != OUTBACK_EVENT_INTERPROCESS) {
      throw invalid_argument("the event was not created for it");
    }
    return handle_of({number_, address(handle), 0});
  }
  outback_event ipc_open_event(int32_t d, const outback_ipc_handle& handle) {
    enter(d);
    const named what = named_by(handle);
    event opened = of_other_process(what, [&](whole_runtime& owner) {
      const event& theirs = owner.at(reinterpret_cast<outback_event>(what.object));
      return event{d, theirs.flags, theirs.last, nullptr, nullptr, 0};
    });
    const std::lock_guard lock(mutex_);
    return keep(events_, std::move(opened));
  }

  void graph_begin(int32_t d, outback_stream handle) {
    const auto lock = enter(d);
    stream& s = at(d, handle);
    if (s.in) throw invalid_argument("the stream is in a capture");
    s.in = std::make_shared<capture>();
    s.in->origin = &s;
  }
  outback_capture graph_status(int32_t d, outback_stream handle) {
    const auto lock = enter(d);
    const stream& s = at(d, handle);
    return !s.in          ? OUTBACK_CAPTURE_NONE
           : s.in->broken ? OUTBACK_CAPTURE_BROKEN
                          : OUTBACK_CAPTURE_ACTIVE;
  }
  outback_graph graph_end(int32_t d, outback_stream handle) {
    const auto lock = enter(d);
    const stream& s = at(d, handle);
    if (!s.in || s.in->origin != &s) throw invalid_argument("no capture began on the stream");
    const auto ended = s.in;
    leave(*ended);
    if (ended->broken) throw invalid_argument("the capture was broken");
    if (!ended->apart.empty()) throw invalid_argument("a stream of the capture was not joined");
    return keep(graphs_, graph{d, std::make_shared<work_list>(std::move(ended->work)), false});
  }
  void graph_instantiate(int32_t d, outback_graph handle) {
    const auto lock = enter(d);
    graph& g = at(d, handle);
    if (std::exchange(g.ready, true)) throw invalid_argument("it was instantiated already");
  }
  void graph_launch(int32_t d, outback_graph handle, outback_stream where) {
    auto lock = enter(d);
    const graph& g = at(d, handle);
    stream& s = at(d, where);
    if (!g.ready) throw invalid_argument("it was not instantiated");
    const auto work = [list = g.work] {
      for (const auto& each : *list) each();
    };
    if (s.in) return submit(s, work);
    lock.unlock();  // callbacks may be among them
    work();
  }
  void graph_destroy(int32_t d, outback_graph handle) {
    const auto lock = enter(d);
    at(d, handle), graphs_.erase(handle);
  }

  int64_t telemetry_read(int32_t d, outback_metric metric) {
    const auto lock = enter(d);
    if (metric != OUTBACK_METRIC_MEMORY_USED) throw unsupported("not measured");
    return int64_t(used(d));
  }
  std::vector<outback_process> telemetry_processes(int32_t d) {
    const auto lock = enter(d);
    if (used(d) == 0) return {};
    return {{.pid = getpid(), .memory = used(d)}};
  }

  void activity_start(int32_t d) {
    const auto lock = enter(d);
    if (recorded_[d].goes_on) throw invalid_argument("the device is in a recording already");
    recorded_[d] = {.goes_on = true, .all = {}};
  }
  void activity_stop(int32_t d) {
    const auto lock = enter(d);
    if (!std::exchange(recorded_[d].goes_on, false)) {
      throw invalid_argument("the device is in no recording");
    }
  }
  void activity_flush(int32_t d) { enter(d); }
  outback_records activity_read(int32_t d) {
    const auto lock = enter(d);
    outback_records taken = {};
    auto& all = recorded_[d].all;
    for (; taken.count < std::size(taken.list) && !all.empty(); all.pop_front()) {
      taken.list[taken.count++] = all.front();
    }
    return taken;
  }
  int64_t activity_clock(int32_t d) {
    const auto lock = enter(d);
    return now();
  }
  uint64_t activity_stream(int32_t d, outback_stream handle) {
    const auto lock = enter(d);
    return address(&at(d, handle));
  }
  void activity_push(uint64_t number) {
    on_call();
    if (pushed().size() == 64) throw invalid_argument("64 numbers are pushed");
    pushed().push_back(number);
  }
  uint64_t activity_pop() {
    on_call();
    if (pushed().empty()) throw invalid_argument("no number is pushed");
    const uint64_t number = pushed().back();
    pushed().pop_back();
    return number;
  }

  /// By the calling thread: what is open, and what was marked.
  std::vector<std::string> open_ranges() const { return ranges(); }
  void range_push(const char* name) { on_call(), ranges().emplace_back(name); }
  void range_pop() {
    on_call();
    if (ranges().empty()) throw invalid_argument("no range is open");
    ranges().pop_back();
  }
  void range_mark(const char*) { on_call(); }

  outback_formats kernel_formats(int32_t d) {
    const auto lock = enter(d);
    outback_formats formats = {};
    formats.count = 1;
    formats.list[0] = OUTBACK_FORMAT_HOST;
    return formats;
  }
  outback_module module_load(int32_t d, outback_format format, const void*, std::size_t) {
    const auto lock = enter(d);
    if (format != OUTBACK_FORMAT_HOST) throw unsupported("it takes OUTBACK_FORMAT_HOST");
    return keep(modules_, module{.device = d, .kernels = {}});
  }
  void module_unload(int32_t d, outback_module handle) {
    const auto lock = enter(d);
    of_device(find(modules_, handle), d), modules_.erase(handle);
  }
  /// A module has a kernel of every name but "none".
  outback_kernel kernel_of(int32_t d, outback_module handle, const char* name) {
    const auto lock = enter(d);
    module& m = of_device(find(modules_, handle), d);
    if (std::string(name) == "none") throw invalid_argument("the module has no such kernel");
    return reinterpret_cast<outback_kernel>(
        const_cast<std::string*>(&*m.kernels.insert(name).first));
  }
  outback_kernel_info kernel_info(int32_t d, outback_kernel handle) {
    const auto lock = enter(d);
    check_kernel(d, handle);
    outback_kernel_info info = {};
    info.argument_count = 3;
    info.max_items = 256;
    return info;
  }
  void kernel_launch(int32_t d, outback_kernel handle, const outback_launch& launch,
                     outback_stream where) {
    const auto lock = enter(d);
    check_kernel(d, handle);
    submit(at(d, where), [this] { ++launches_; });
    note(at(d, where), OUTBACK_RECORD_KERNEL, 0);
    last_groups_ = launch.groups[0];
  }
  /// How many launches have run, and how many groups the last one had.
  int launches() const { return launches_; }
  uint32_t last_groups() const { return last_groups_; }

  static constexpr std::size_t memory_size = std::size_t{64} << 20;

 private:
  using work_list = std::vector<std::function<void()>>;
  struct stream;
  struct capture {
    stream* origin = nullptr;
    work_list work;
    bool broken = false, over = false;
    std::map<stream*, std::size_t> apart;  // not joined yet, and how much work there was when last
  };
  struct stream {
    int32_t device = 0;
    std::shared_ptr<capture> in;
  };
  struct record {  // what all processes see of an event
    std::optional<std::chrono::steady_clock::duration> time;
  };
  struct event {
    int32_t device;
    uint32_t flags;
    std::shared_ptr<record> last;
    std::shared_ptr<capture> in;
    stream* recorded_on;
    std::size_t position;
  };
  struct module {
    int32_t device;
    std::set<std::string> kernels;
  };
  struct graph {
    int32_t device;
    std::shared_ptr<work_list> work;
    bool ready;
  };
  struct allocation {
    int32_t device;
    std::size_t size;
  };
  struct pinned {
    std::size_t size;
    bool ours;
  };
  struct opened {
    std::size_t size = 0;
    int times = 0;
  };
  struct recording {
    bool goes_on = false;
    std::deque<outback_record> all;
  };
  struct named {  // what the bytes of an IPC handle say
    uint64_t process, object, size;
  };
  struct process_list {
    std::mutex mutex;
    uint64_t last = 0;
    std::map<uint64_t, whole_runtime*> all;
  };
  static process_list& processes() {
    static auto& it = *new process_list;
    return it;
  }

  std::unique_lock<std::mutex> enter(int32_t device) {
    on_call();
    check_device(device, int32_t(streams_of_.size()));
    return std::unique_lock(mutex_);
  }

  static uintptr_t address(const void* ptr) { return reinterpret_cast<uintptr_t>(ptr); }
  static bool holds(const void* base, std::size_t all, const void* ptr, std::size_t size) {
    const uintptr_t offset = address(ptr) - address(base);
    return offset < all && size <= all - offset;
  }
  static void* allocate(std::size_t size) {
    if (size == 0) return nullptr;
    void* ptr = std::aligned_alloc(64, (size + 63) / 64 * 64);
    if (ptr == nullptr) throw std::bad_alloc();
    return ptr;
  }

  // ---- With the mutex held.

  std::size_t used(int32_t d) const {
    std::size_t sum = 0;
    for (const auto& [ptr, given] : memory_) sum += given.device == d ? given.size : 0;
    return sum;
  }
  void check_range(int32_t d, const void* ptr, std::size_t size) const {
    for (const auto& [base, given] : memory_) {
      if (given.device == d && holds(base, given.size, ptr, size)) return;
    }
    for (const auto& [where, given] : opened_) {
      if (where.first == d && holds(where.second, given.size, ptr, size)) return;
    }
    throw invalid_argument("the range is in no memory of device " + std::to_string(d));
  }
  bool is_pinned(const void* ptr) const {
    for (const auto& [base, given] : pinned_) {
      if (holds(base, given.size, ptr, 0)) return true;
    }
    return false;
  }
  void take_pinned(void* ptr, bool ours) {
    const auto found = pinned_.find(ptr);
    if (found == pinned_.end() || found->second.ours != ours) {
      throw invalid_argument("the pointer is not what was pinned so");
    }
    pinned_.erase(found);
  }

  template <class Handle, class Object>
  static Handle keep(std::map<Handle, std::unique_ptr<Object>>& all, Object&& made) {
    auto owned = std::make_unique<Object>(std::move(made));
    const auto handle = reinterpret_cast<Handle>(owned.get());
    all.emplace(handle, std::move(owned));
    return handle;
  }
  template <class Handle, class Object>
  static Object& find(std::map<Handle, std::unique_ptr<Object>>& all, Handle handle) {
    const auto found = all.find(handle);
    if (found == all.end()) throw invalid_argument("the handle is none of this runtime's");
    return *found->second;
  }
  template <class Object>
  static Object& of_device(Object& object, int32_t d) {
    if (object.device != d) throw invalid_argument("the handle is of another device");
    return object;
  }
  stream& at(int32_t d, outback_stream handle) {
    return handle == nullptr ? streams_of_[std::size_t(d)] : of_device(find(streams_, handle), d);
  }
  void check_kernel(int32_t d, outback_kernel handle) const {
    for (const auto& [of, m] : modules_) {
      for (const std::string& each : m->kernels) {
        if (reinterpret_cast<const void*>(&each) != handle) continue;
        return void(of_device(*m, d));
      }
    }
    throw invalid_argument("the handle is none of this runtime's");
  }
  event& at(outback_event handle) { return find(events_, handle); }
  event& at(int32_t d, outback_event handle) { return of_device(at(handle), d); }
  graph& at(int32_t d, outback_graph handle) { return of_device(find(graphs_, handle), d); }

  static void check_idle(stream& s) {
    if (!s.in) return;
    s.in->broken = true;
    throw invalid_argument("the stream is in a capture");
  }
  static void check_whole(const capture& c) {
    if (c.broken) throw invalid_argument("the capture is broken");
  }
  static void submit(stream& s, const std::function<void()>& work) {
    if (!s.in) return work();
    check_whole(*s.in);
    s.in->work.push_back(work);
    if (s.in->origin != &s) s.in->apart[&s] = s.in->work.size();
  }
  static int64_t now() {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  static std::vector<uint64_t>& pushed() {
    thread_local std::vector<uint64_t> all;
    return all;
  }
  static std::vector<std::string>& ranges() {
    thread_local std::vector<std::string> all;
    return all;
  }
  // Of work that has just run, or that a capture has taken.
  void note(const stream& s, outback_record_kind kind, std::size_t size) {
    recording& to = recorded_[s.device];
    if (s.in || !to.goes_on) return;
    to.all.push_back({.kind = kind,
                      .flags = 0,
                      .stream = address(&s),
                      .begin = now(),
                      .end = now(),
                      .bytes = size,
                      .correlation = pushed().empty() ? 0 : pushed().back(),
                      .name = nullptr,
                      .reserved = 0});
  }
  void leave(capture& c) {
    c.over = true;
    const auto leave_one = [&](stream& s) {
      if (s.in.get() == &c) s.in.reset();
    };
    const auto alive = c.origin->in;  // the last of them would end it
    for (stream& s : streams_of_) leave_one(s);
    for (const auto& [handle, s] : streams_) leave_one(*s);
  }

  static outback_ipc_handle handle_of(const named& what) {
    outback_ipc_handle handle = {};
    handle.fd = -1;
    handle.size = sizeof(what);
    std::memcpy(handle.bytes, &what, sizeof(what));
    return handle;
  }
  static named named_by(const outback_ipc_handle& handle) {
    if (handle.size != sizeof(named)) throw invalid_argument("the handle is none of ours");
    named what;
    std::memcpy(&what, handle.bytes, sizeof(what));
    return what;
  }
  /// What `look` answers of the process that `what` is of. Called without our mutex.
  template <class Look>
  std::invoke_result_t<Look&, whole_runtime&> of_other_process(const named& what,
                                                               Look&& look) const {
    const std::lock_guard all(processes().mutex);
    const auto found = processes().all.find(what.process);
    if (found == processes().all.end() || found->second == this) {
      throw invalid_argument("the handle is of no other process");
    }
    const std::lock_guard theirs(found->second->mutex_);
    return look(*found->second);
  }

  uint64_t number_ = 0;
  std::mutex mutex_;
  std::vector<stream> streams_of_;  // the default ones
  std::map<outback_stream, std::unique_ptr<stream>> streams_;
  std::map<outback_event, std::unique_ptr<event>> events_;
  std::map<outback_graph, std::unique_ptr<graph>> graphs_;
  std::map<outback_module, std::unique_ptr<module>> modules_;
  int launches_ = 0;
  uint32_t last_groups_ = 0;
  std::map<void*, allocation> memory_;
  std::map<void*, pinned> pinned_;
  std::map<std::pair<int32_t, void*>, opened> opened_;
  std::map<int32_t, recording> recorded_;
};
static_assert(device_runtime<whole_runtime>);

}  // namespace outback
