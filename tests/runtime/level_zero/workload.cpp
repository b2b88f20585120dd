#include "tests/runtime/level_zero/workload.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "tests/fakes/level_zero/spirv_source.hpp"

namespace outback::test_level_zero {
namespace {

constexpr std::size_t small = 1000, big = std::size_t{1} << 20;

std::vector<unsigned char> numbered(std::size_t size) {
  std::vector<unsigned char> made(size);
  for (std::size_t i = 0; i < size; ++i) made[i] = static_cast<unsigned char>(i * 31 + size);
  return made;
}

}  // namespace

bool workload::attempt(const char* slot, outback_status status) {
  if (status == OUTBACK_OK || status == OUTBACK_NOT_READY) return true;
  failures_.push_back({slot, status, t_.last_error(t_.self)});
  return false;
}

std::vector<failure> workload::run() {
  outback_device_info info = {};
  info.struct_size = sizeof(info);
  attempt("device_info", t_.device_info(t_.self, 0, &info));
  memory_and_copies();
  streams_and_events();
  kernels();
  the_rest();
  give_back();
  return std::exchange(failures_, {});
}

std::vector<failure> workload::clean_up() {
  give_back();
  return std::exchange(failures_, {});
}

void workload::memory_and_copies() {
  for (const std::size_t size : {small, big}) {
    void *here = nullptr, *there = nullptr, *pinned = nullptr;
    if (attempt("mem_alloc", t_.mem_alloc(t_.self, 0, size, &here))) memory_.push_back({0, here});
    if (attempt("mem_alloc", t_.mem_alloc(t_.self, 1, size, &there))) memory_.push_back({1, there});
    if (attempt("host_memory.alloc", t_.host_memory->alloc(t_.self, size, &pinned))) {
      pinned_.push_back(pinned);
    }
    if (here == nullptr || there == nullptr || pinned == nullptr) continue;
    const auto content = numbered(size);
    std::vector<unsigned char> back(size);
    const auto copy = [&](void* dst, int32_t to, const void* src, int32_t from) {
      return attempt("mem_copy", t_.mem_copy(t_.self, dst, to, src, from, size, nullptr));
    };
    const uint64_t pattern = 0x0102030405060708;
    bool good = attempt("mem_fill", t_.mem_fill(t_.self, 0, here, size, &pattern, 8, nullptr));
    good &= copy(here, 0, content.data(), OUTBACK_HOST);
    good &= copy(there, 1, here, 0);
    good &= attempt("device_sync", t_.device_sync(t_.self, 0));
    good &= copy(pinned, OUTBACK_HOST, there, 1);
    good &= attempt("device_sync", t_.device_sync(t_.self, 1));
    good &= copy(here, 0, pinned, OUTBACK_HOST);
    good &= copy(back.data(), OUTBACK_HOST, here, 0);
    good &= attempt("device_sync", t_.device_sync(t_.self, 0));
    if (!good) continue;
    for (std::size_t i = 0; i < size; ++i) wrong_bytes_ += back[i] != content[i];
    outback_pointer_info info = {};
    info.struct_size = sizeof(info);
    attempt("host_memory.info", t_.host_memory->info(t_.self, pinned, &info));
  }
}

void workload::streams_and_events() {
  outback_stream s = nullptr, other = nullptr;
  outback_event from = nullptr, to = nullptr;
  for (outback_stream* made : {&s, &other}) {
    if (attempt("streams.create", t_.streams->create(t_.self, 0, 0, made))) {
      streams_.push_back(*made);
    }
  }
  for (outback_event* made : {&from, &to}) {
    if (attempt("events.create", t_.events->create(t_.self, 0, OUTBACK_EVENT_TIMING, made))) {
      events_.push_back(*made);
    }
  }
  if (s == nullptr || other == nullptr || from == nullptr || to == nullptr) return;
  const bool recorded = attempt("events.record", t_.events->record(t_.self, 0, from, s)) &
                        attempt("events.wait", t_.events->wait(t_.self, 0, from, other)) &
                        attempt("events.record", t_.events->record(t_.self, 0, to, other));
  attempt("events.query", t_.events->query(t_.self, 0, from));
  attempt("events.sync", t_.events->sync(t_.self, 0, to));
  attempt("streams.query", t_.streams->query(t_.self, 0, s));
  attempt("streams.sync", t_.streams->sync(t_.self, 0, other));
  int64_t ns = 0;
  if (recorded) attempt("events.elapsed", t_.events->elapsed(t_.self, from, to, &ns));
  void* handle = nullptr;
  attempt("native.event", t_.native->event(t_.self, 0, to, &handle));

  // Static, since after a failure nobody says when it will have run.
  static std::atomic<int> runs;
  const int before = runs;
  const auto count = [](void*) { ++runs; };
  if (attempt("callbacks.enqueue", t_.callbacks->enqueue(t_.self, 0, count, nullptr, s)) &&
      attempt("streams.sync", t_.streams->sync(t_.self, 0, s))) {
    wrong_bytes_ += runs != before + 1;
  }
}

void workload::kernels() {
  using software_ze::parameter;
  const std::string bytes = software_ze::spirv_of(
      {{"put", {parameter::memory, parameter::number, parameter::local}, true}});
  outback_module m = nullptr;
  outback_kernel kernel = nullptr;
  void* memory = nullptr;
  if (attempt("mem_alloc", t_.mem_alloc(t_.self, 0, small, &memory))) {
    memory_.push_back({0, memory});
  }
  if (!attempt("kernels.module_load", t_.kernels->module_load(t_.self, 0, OUTBACK_FORMAT_SPIRV,
                                                              bytes.data(), bytes.size(), &m))) {
    return;
  }
  modules_.push_back(m);
  if (!attempt("kernels.kernel", t_.kernels->kernel(t_.self, 0, m, "put", &kernel))) return;
  outback_kernel_info info = {};
  info.struct_size = sizeof(info);
  attempt("kernels.info", t_.kernels->info(t_.self, 0, kernel, &info));
  const uint32_t number = 1;
  const outback_argument arguments[] = {{&memory, sizeof(memory), 1}, {&number, sizeof(number), 0}};
  const outback_launch how = {sizeof(how), 2, arguments, {1, 1, 1}, {1, 1, 1}, 64};
  attempt("kernels.launch", t_.kernels->launch(t_.self, 0, kernel, &how, nullptr));
}

void workload::the_rest() {
  std::size_t free = 0, total = 0;
  attempt("device_state.memory_usage", t_.device_state->memory_usage(t_.self, 0, &free, &total));
  int32_t can = 0;
  attempt("peer.can_access", t_.peer->can_access(t_.self, 0, 1, &can));
  if (can == 1) attempt("peer.enable", t_.peer->enable(t_.self, 0, 1));
  void* ptr = nullptr;
  if (attempt("mem_alloc", t_.mem_alloc(t_.self, 1, small, &ptr))) {
    memory_.push_back({1, ptr});
    outback_ipc_handle handle = {};
    handle.struct_size = sizeof(handle);
    handle.fd = -1;
    if (attempt("ipc.get_memory", t_.ipc->get_memory(t_.self, 1, ptr, &handle))) close(handle.fd);
  }
  attempt("peer.disable", t_.peer->disable(t_.self, 0, 1));
}

void workload::give_back() {
  // Also if that failed, a module is gone.
  for (const outback_module each : std::exchange(modules_, {})) {
    attempt("kernels.module_unload", t_.kernels->module_unload(t_.self, 0, each));
  }
  attempt("device_sync", t_.device_sync(t_.self, 0));
  attempt("device_sync", t_.device_sync(t_.self, 1));
  std::erase_if(memory_, [&](const auto& each) {
    return attempt("mem_free", t_.mem_free(t_.self, each.first, each.second));
  });
  std::erase_if(pinned_, [&](void* each) {
    return attempt("host_memory.free", t_.host_memory->free(t_.self, each));
  });
  std::erase_if(events_, [&](outback_event each) {
    return attempt("events.destroy", t_.events->destroy(t_.self, 0, each));
  });
  // A stream is gone also if that failed.
  for (const outback_stream each : std::exchange(streams_, {})) {
    attempt("streams.destroy", t_.streams->destroy(t_.self, 0, each));
  }
}

}  // namespace outback::test_level_zero
