// Refused calls: the status, the outputs that stay as they were, and the text.
#include <limits>
#include <string>
#include <thread>
#include <type_traits>

#include "tests/runtime/suite/any_call.hpp"
#include "tests/runtime/suite/suite.hpp"

namespace outback::suite {
namespace {

/// Outputs of every slot, set to what no slot answers.
struct outputs {
  outback_device_info info = {};
  outback_pointer_info pointer = {};
  void* ptr = this;
  outback_stream stream = reinterpret_cast<outback_stream>(this);
  outback_event event = reinterpret_cast<outback_event>(this);

  outputs() {
    info.struct_size = sizeof(info);
    info.flags = 0xeeeeeeee;
  }

  bool untouched() {
    return info.struct_size == sizeof(info) && info.flags == 0xeeeeeeee && info.memory_size == 0 &&
           ptr == this && stream == reinterpret_cast<outback_stream>(this) &&
           event == reinterpret_cast<outback_event>(this);
  }
};

/// Whether a call of the slot needs no object of the runtime's: its arguments are numbers, names,
/// outputs and streams, of which there is the default one.
template <class Slot, class Owner, class... Args>
constexpr bool needs_no_object(outback_status (*Owner::*)(void*, Args...)) {
  std::size_t i = 0;
  [[maybe_unused]] const auto is_simple = [&](bool number_or_name) {
    const slots::role is = Slot::arguments[i++].is;
    return number_or_name || slots::is_output(is) || is == slots::role::or_null;
  };
  return (is_simple(std::is_integral_v<Args> || std::is_same_v<Args, const char*>) && ...);
}

/// Such a call, in which one argument is wrong: where `change(argument, value&)` says that it has
/// changed it. Returns whether it did, and has seen the call refused then.
template <class Slot, class Change>
bool refuses_change(const outback_runtime& table, std::size_t wrong, Change&& change) {
  call_of<Slot> call;
  bool changed = false;
  call.each([&](std::size_t i, slots::argument a, auto& value) {
    if (a.is == slots::role::or_null) value = {};
    if (i == wrong) changed = change(a, value);
  });
  if (changed) {
    EXPECT_FAILS(call(table), OUTBACK_INVALID_ARGUMENT)
        << Slot::name << ": " << Slot::arguments[wrong].name;
    EXPECT_TRUE(call.untouched()) << Slot::name;
  }
  return changed;
}

/// The same for each argument of each slot of the table that needs no object. Returns how many were
/// changed.
template <class Change>
int refused_changes(const outback_runtime& table, Change&& change) {
  int changes = 0;
  slots::for_each_slot([&](auto slot) {
    using Slot = decltype(slot);
    if constexpr (needs_no_object<Slot>(Slot::pointer)) {
      if (slots::function_in<Slot>(table) == nullptr) return;
      for (std::size_t i = 0; i < std::size(Slot::arguments); ++i) {
        changes += refuses_change<Slot>(table, i, change);
      }
    }
  });
  return changes;
}

class ErrorTest : public RuntimeTest {
 protected:
  const outback_runtime& t_ = table();
  void* const self_ = t_.self;

  // Calls every slot that takes a device with `d`, and expects each to refuse it.
  void expect_refused(int32_t d) {
    SCOPED_TRACE(testing::Message() << "device " << d);
    memory data(64);
    bytes host(64);
    const std::byte pattern{1};
    outputs out;
    const int devices =
        refused_changes(t_, [&]<class Value>(const slots::argument& a, Value& value) {
          if constexpr (std::is_same_v<Value, int32_t>) {
            if (a.is == slots::role::device) return value = d, true;
          }
          return false;
        });
    EXPECT_GE(devices, 3);
    EXPECT_FAILS(t_.mem_alloc(self_, d, 0, &out.ptr), bad);
    EXPECT_FAILS(t_.mem_free(self_, d, data.at()), bad);
    EXPECT_FAILS(t_.mem_free(self_, d, nullptr), bad);
    EXPECT_FAILS(t_.mem_fill(self_, d, data.at(), 64, &pattern, 1, nullptr), bad);
    EXPECT_FAILS(t_.mem_copy(self_, data.at(), d, host.data(), OUTBACK_HOST, 64, nullptr), bad);
    EXPECT_FAILS(t_.mem_copy(self_, host.data(), OUTBACK_HOST, data.at(), d, 64, nullptr), bad);
    if (d != OUTBACK_HOST) {  // which is no device, but a side of a copy
      EXPECT_FAILS(t_.mem_copy(self_, data.at(), d, data.at(), 0, 64, nullptr), bad);
      EXPECT_FAILS(t_.mem_copy(self_, data.at(), 0, data.at(), d, 64, nullptr), bad);
    }
    if (t_.streams != nullptr) {
      stream s;
      EXPECT_FAILS(t_.streams->create(self_, d, 0, &out.stream), bad);
      EXPECT_FAILS(t_.streams->query(self_, d, s), bad);
      EXPECT_FAILS(t_.streams->sync(self_, d, s), bad);
      EXPECT_FAILS(t_.streams->destroy(self_, d, s), bad);
    }
    if (t_.events != nullptr) {
      event e;
      EXPECT_FAILS(t_.events->create(self_, d, 0, &out.event), bad);
      EXPECT_FAILS(t_.events->record(self_, d, e, nullptr), bad);
      EXPECT_FAILS(t_.events->wait(self_, d, e, nullptr), bad);
      EXPECT_FAILS(t_.events->query(self_, d, e), bad);
      EXPECT_FAILS(t_.events->sync(self_, d, e), bad);
      EXPECT_FAILS(t_.events->destroy(self_, d, e), bad);
    }
    if (t_.callbacks != nullptr) {
      EXPECT_FAILS(t_.callbacks->enqueue(self_, d, [](void*) {}, nullptr, nullptr), bad);
    }
    if (t_.graphs != nullptr) expect_graphs_refused(d);
    if (t_.native != nullptr) {
      stream s;
      event e;
      EXPECT_FAILS(t_.native->stream(self_, d, s, &out.ptr), bad);
      EXPECT_FAILS(t_.native->event(self_, d, e, &out.ptr), bad);
      void* handle = nullptr;
      check(t_.native->stream(self_, 0, s, &handle), "native.stream");
      EXPECT_FAILS(t_.native->wrap_stream(self_, d, handle, &out.stream), bad);
    }
    if (t_.ipc != nullptr) {
      event e(OUTBACK_EVENT_INTERPROCESS);
      outback_ipc_handle handle = {};
      handle.struct_size = sizeof(handle);
      handle.fd = -1;
      EXPECT_FAILS(t_.ipc->get_memory(self_, d, data.at(), &handle), bad);
      EXPECT_FAILS(t_.ipc->get_event(self_, d, e, &handle), bad);
      EXPECT_EQ(handle.size, 0u);
      EXPECT_FAILS(t_.ipc->open_memory(self_, d, &handle, &out.ptr), bad);
      EXPECT_FAILS(t_.ipc->open_event(self_, d, &handle, &out.event), bad);
      EXPECT_FAILS(t_.ipc->close_memory(self_, d, data.at()), bad);
    }
    EXPECT_TRUE(out.untouched());
    EXPECT_TRUE(same(host, bytes(64)));
    data.fill(9);
    EXPECT_TRUE(same(data.read(), all(64, 9))) << "what was refused has destroyed something";
  }

  void expect_graphs_refused(int32_t d) {
    stream s;
    outback_graph graph = nullptr, no_graph = nullptr;
    outback_capture status = -77;
    EXPECT_FAILS(t_.graphs->begin(self_, d, s), bad);
    check(t_.graphs->begin(self_, 0, s), "graphs.begin");
    EXPECT_FAILS(t_.graphs->status(self_, d, s, &status), bad);
    EXPECT_FAILS(t_.graphs->end(self_, d, s, &no_graph), bad);
    check(t_.graphs->end(self_, 0, s, &graph), "graphs.end");
    EXPECT_FAILS(t_.graphs->instantiate(self_, d, graph), bad);
    check(t_.graphs->instantiate(self_, 0, graph), "graphs.instantiate");
    EXPECT_FAILS(t_.graphs->launch(self_, d, graph, s), bad);
    EXPECT_FAILS(t_.graphs->destroy(self_, d, graph), bad);
    check(t_.graphs->destroy(self_, 0, graph), "graphs.destroy");
    EXPECT_EQ(no_graph, nullptr);
    EXPECT_EQ(status, -77);
  }

  static constexpr outback_status bad = OUTBACK_INVALID_ARGUMENT;
};

TEST_F(ErrorTest, ADeviceBelowZeroIsRefused) {
  expect_refused(-1);
  expect_refused(-2);
  expect_refused(std::numeric_limits<int32_t>::min());
}

TEST_F(ErrorTest, ADeviceBeyondTheLastIsRefused) {
  expect_refused(device_count());
  expect_refused(device_count() + 7);
  expect_refused(std::numeric_limits<int32_t>::max());
}

TEST_F(ErrorTest, NullOutputsAndNamesAreRefused) {
  const int nulls = refused_changes(t_, [&]<class Value>(const slots::argument& a, Value& value) {
    if constexpr (std::is_pointer_v<Value>) {
      if (a.is != slots::role::or_null) return value = nullptr, true;
    }
    return false;
  });
  EXPECT_GE(nulls, 3);
}

TEST_F(ErrorTest, NullOutputsOfEventsAndHostMemoryAreRefused) {
  if (t_.events != nullptr) {
    event begin(OUTBACK_EVENT_TIMING), end(OUTBACK_EVENT_TIMING);
    begin.record(nullptr);
    end.record(nullptr);
    end.sync();
    EXPECT_FAILS(t_.events->elapsed(self_, begin, end, nullptr), bad);
  }
  if (t_.host_memory != nullptr) {
    const int32_t number = 0;
    EXPECT_FAILS(t_.host_memory->info(self_, &number, nullptr), bad);
  }
}

TEST_F(ErrorTest, NullCallbacksAndGraphsAreRefused) {
  OUTBACK_NEEDS(t_.callbacks != nullptr || t_.graphs != nullptr, "callbacks or graphs");
  int data = 0;
  if (t_.callbacks != nullptr) {
    EXPECT_FAILS(t_.callbacks->enqueue(self_, 0, nullptr, &data, nullptr), bad);
  }
  if (t_.graphs != nullptr) {
    EXPECT_FAILS(t_.graphs->instantiate(self_, 0, nullptr), bad);
    EXPECT_FAILS(t_.graphs->launch(self_, 0, nullptr, nullptr), bad);
    EXPECT_FAILS(t_.graphs->destroy(self_, 0, nullptr), bad);
  }
}

TEST_F(ErrorTest, NullMemoryIsRefused) {
  memory data(64);
  bytes host(64);
  const std::byte pattern{1};
  EXPECT_FAILS(t_.mem_copy(self_, nullptr, 0, host.data(), OUTBACK_HOST, 64, nullptr), bad);
  EXPECT_FAILS(t_.mem_copy(self_, data.at(), 0, nullptr, OUTBACK_HOST, 64, nullptr), bad);
  EXPECT_FAILS(t_.mem_copy(self_, nullptr, OUTBACK_HOST, data.at(), 0, 64, nullptr), bad);
  EXPECT_FAILS(t_.mem_copy(self_, host.data(), OUTBACK_HOST, nullptr, 0, 64, nullptr), bad);
  EXPECT_FAILS(t_.mem_copy(self_, nullptr, 0, data.at(), 0, 64, nullptr), bad);
  EXPECT_FAILS(t_.mem_copy(self_, data.at(), 0, nullptr, 0, 64, nullptr), bad);
  EXPECT_FAILS(t_.mem_fill(self_, 0, nullptr, 64, &pattern, 1, nullptr), bad);
  EXPECT_FAILS(t_.mem_fill(self_, 0, data.at(), 64, nullptr, 1, nullptr), bad);
}

TEST_F(ErrorTest, NullEventsAreRefused) {
  OUTBACK_NEEDS_GROUP(events);
  event e(OUTBACK_EVENT_TIMING);
  int64_t ns = -77;
  EXPECT_FAILS(t_.events->record(self_, 0, nullptr, nullptr), bad);
  EXPECT_FAILS(t_.events->wait(self_, 0, nullptr, nullptr), bad);
  EXPECT_FAILS(t_.events->query(self_, 0, nullptr), bad);
  EXPECT_FAILS(t_.events->sync(self_, 0, nullptr), bad);
  EXPECT_FAILS(t_.events->elapsed(self_, nullptr, e, &ns), bad);
  EXPECT_FAILS(t_.events->elapsed(self_, e, nullptr, &ns), bad);
  EXPECT_FAILS(t_.events->destroy(self_, 0, nullptr), bad);
  EXPECT_EQ(ns, -77);
}

TEST_F(ErrorTest, NullsOfNativeHandlesAndIpcAreRefused) {
  memory data(64);
  if (t_.native != nullptr) {
    event e;
    void* handle = this;
    EXPECT_FAILS(t_.native->event(self_, 0, e, nullptr), bad);
    EXPECT_FAILS(t_.native->event(self_, 0, nullptr, &handle), bad);
    EXPECT_EQ(handle, this);
    check(t_.native->stream(self_, 0, nullptr, &handle), "native.stream");
    EXPECT_FAILS(t_.native->wrap_stream(self_, 0, handle, nullptr), bad);
  }
  if (t_.ipc != nullptr) {
    outback_ipc_handle handle = {};
    handle.struct_size = sizeof(handle);
    outputs out;
    EXPECT_FAILS(t_.ipc->get_memory(self_, 0, nullptr, &handle), bad);
    EXPECT_FAILS(t_.ipc->get_memory(self_, 0, data.at(), nullptr), bad);
    EXPECT_FAILS(t_.ipc->get_event(self_, 0, nullptr, &handle), bad);
    EXPECT_FAILS(t_.ipc->open_memory(self_, 0, nullptr, &out.ptr), bad);
    EXPECT_FAILS(t_.ipc->open_event(self_, 0, nullptr, &out.event), bad);
    EXPECT_FAILS(t_.ipc->close_memory(self_, 0, nullptr), bad);
    EXPECT_EQ(handle.size, 0u);
    EXPECT_TRUE(out.untouched());
  }
}

TEST_F(ErrorTest, TheDefaultStreamIsNotDestroyed) {
  OUTBACK_NEEDS_GROUP(streams);
  EXPECT_FAILS(t_.streams->destroy(self_, 0, nullptr), bad);
  memory data(64);
  data.fill(1, nullptr);
  EXPECT_TRUE(same(data.read(), all(64, 1)));
}

TEST_F(ErrorTest, TheTextIsEmptyBeforeTheFirstFailure) {
  EXPECT_NE(t_.last_error(self_), nullptr);
  std::string text = "not asked";
  std::thread([&] { text = t_.last_error(self_); }).join();
  EXPECT_EQ(text, "");
}

TEST_F(ErrorTest, TheTextIsTheThreadsOwn) {
  EXPECT_FAILS(t_.device_sync(self_, -2), bad);
  const std::string mine = t_.last_error(self_);
  std::string before = "not asked", after;
  std::thread([&] {
    before = t_.last_error(self_);
    void* ptr = nullptr;
    if (t_.mem_alloc(self_, 0, std::numeric_limits<std::size_t>::max(), &ptr) != OUTBACK_OK)
      after = t_.last_error(self_);
  }).join();
  EXPECT_EQ(before, "");
  EXPECT_NE(after, "");
  EXPECT_NE(after, mine);
  EXPECT_EQ(t_.last_error(self_), mine);
}

TEST_F(ErrorTest, TheTextStaysUntilTheNextFailure) {
  EXPECT_FAILS(t_.device_sync(self_, -2), bad);
  const char* text = t_.last_error(self_);
  const std::string first = text;
  EXPECT_OK(t_.device_sync(self_, 0));
  memory data(64);
  data.fill(1);
  EXPECT_EQ(t_.last_error(self_), first);
  EXPECT_EQ(text, first) << "the pointer died";
}

}  // namespace
}  // namespace outback::suite
