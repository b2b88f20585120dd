// The host runtime with hooks in its slots, and the backend that is registered with it: for what
// core makes of a driver's answers, and how often it calls the driver.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/runtimes/host/host_runtime.hpp"
#include "outback/backend.h"
#include "outback/runtime.hpp"

namespace outback::test {

class hooked_runtime : public host::host_runtime {
 public:
  hooked_runtime() : host_runtime({.devices = 2, .memory_size = size_t{64} << 20}) {}

  void device_select(int32_t device) {
    selected.push_back(device);
    if (device == refused) throw invalid_argument("the driver does not select this device");
    host_runtime::device_select(device);
  }
  bool device_is_active(int32_t device) {
    if (device == refused) throw invalid_argument("the driver does not know this device");
    return host_runtime::device_is_active(device);
  }
  outback_pointer_info host_info(const void* memory) {
    outback_pointer_info info = host_runtime::host_info(memory);
    if (wrong_device != 0) info.device = wrong_device;
    return info;
  }
  void graph_instantiate(int32_t device, outback_graph graph) {
    if (device == refused) throw invalid_argument("the driver does not run this graph");
    host_runtime::graph_instantiate(device, graph);
  }
  void device_sync(int32_t device) {
    host_runtime::device_sync(device);
    if (after_sync) after_sync();
  }
  void mem_free(int32_t device, void* memory) {
    if (before_free) before_free();
    host_runtime::mem_free(device, memory);
  }
  bool stream_query(int32_t device, outback_stream stream) {
    ++streams_asked;
    if (fails_when_asked) {
      fails_when_asked = false;
      throw invalid_argument("the work that was enqueued has failed");
    }
    return host_runtime::stream_query(device, stream);
  }
  outback_event event_create(int32_t device, uint32_t flags) {
    ++events_made;
    return host_runtime::event_create(device, flags);
  }
  void event_record(int32_t device, outback_event event, outback_stream stream) {
    if (before_record) std::exchange(before_record, nullptr)();
    host_runtime::event_record(device, event, stream);
  }
  bool event_query(int32_t device, outback_event event) {
    ++events_asked;
    return host_runtime::event_query(device, event);
  }
  void event_sync(int32_t device, outback_event event) {
    ++events_awaited;
    host_runtime::event_sync(device, event);
    if (after_event_sync) after_event_sync();
  }

  void range_push(const char* name) { ranges.push_back(std::string("push ") + name); }
  void range_pop() { ranges.emplace_back("pop"); }
  void range_mark(const char* name) { ranges.push_back(std::string("mark ") + name); }

  std::vector<std::string> ranges;
  static inline thread_local std::vector<int32_t> selected;  // by this thread
  int32_t refused = -1;
  int32_t wrong_device = 0;  // what host_info says, if it is not 0
  std::function<void()> after_sync, before_free, before_record, after_event_sync;
  std::atomic<bool> fails_when_asked{false};
  std::atomic<int> streams_asked{0}, events_made{0}, events_asked{0}, events_awaited{0};
};

inline hooked_runtime& runtime() {
  static auto& it = *new hooked_runtime;
  return it;
}

class HookedRuntimeTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    // Who finds the runtime installed finds its name too.
    std::thread reader([] {
      while (!core::is_installed()) std::this_thread::yield();
      EXPECT_EQ(core::backend_name(), "acme");
    });
    register_backend({.name = "acme", .runtime = table_of(runtime())});
    reader.join();
  }
  void SetUp() override { core::synchronize_device(0); }
  void TearDown() override {
    runtime().refused = -1;
    runtime().wrong_device = 0;
    runtime().after_sync = runtime().before_free = runtime().before_record =
        runtime().after_event_sync = nullptr;
    core::exchange_stream(core::default_stream(0));
    core::exchange_stream(core::default_stream(1));
    core::set_device(0);
  }
};

// What a thread makes the driver select.
template <class F>
std::vector<int32_t> selected_by(F f) {
  runtime().selected.clear();
  f();
  return std::exchange(runtime().selected, {});
}

template <class F>
std::vector<int32_t> selected_by_a_new_thread(F f) {
  return std::async(std::launch::async, [&] { return selected_by(f); }).get();
}

}  // namespace outback::test
