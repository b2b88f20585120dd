// A call that fails leaves its outputs as they were: every slot that has outputs, in every way in
// which any runtime can be made to refuse it.
#include <unistd.h>

#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/runtime/suite/suite.hpp"

namespace outback::suite {
namespace {

/// What any slot may write to, each set to what no slot answers.
struct output_space {
  outback_device_info info;
  outback_pointer_info pointer;
  outback_ipc_handle handle;
  void* ptr;
  outback_stream stream;
  outback_event event;
  outback_graph graph;
  int32_t number, other;
  std::size_t free, total;
  int64_t wide;
};
static_assert(std::is_trivially_copyable_v<output_space>);

output_space untouched_outputs() {
  output_space out;
  std::memset(&out, 0xe7, sizeof(out));
  out.info.struct_size = sizeof(out.info);
  out.pointer.struct_size = sizeof(out.pointer);
  out.handle.struct_size = sizeof(out.handle);
  return out;
}

/// One way to make one slot fail.
struct refusal {
  std::string what;  // the slot, and what is wrong with the call
  std::function<outback_status(output_space&)> call;
  outback_status want = OUTBACK_INVALID_ARGUMENT;
};

class AtomicityTest : public RuntimeTest {
 protected:
  static void expect_untouched(const std::vector<refusal>& refusals) {
    for (const refusal& r : refusals) {
      SCOPED_TRACE(r.what);
      const output_space before = untouched_outputs();
      output_space out = before;
      EXPECT_FAILS(r.call(out), r.want);
      EXPECT_EQ(std::memcmp(&out, &before, sizeof(out)), 0) << "an output was written to";
    }
  }

  const outback_runtime& t_ = table();
  void* const self_ = t_.self;
  const int32_t none_ = device_count();  // the first device that there is not
};

TEST_F(AtomicityTest, Required) {
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  expect_untouched({
      {"device_info, no such device",
       [&](auto& out) { return t_.device_info(self_, none_, &out.info); }},
      {"mem_alloc, no such device",
       [&](auto& out) { return t_.mem_alloc(self_, none_, 64, &out.ptr); }},
      {"mem_alloc, no such device and no bytes",
       [&](auto& out) { return t_.mem_alloc(self_, none_, 0, &out.ptr); }},
      {"mem_alloc, of more than there is",
       [&](auto& out) { return t_.mem_alloc(self_, 0, most, &out.ptr); }, OUTBACK_OUT_OF_MEMORY},
  });
}

// What copies and fills write to is an output, too.
TEST_F(AtomicityTest, Memory) {
  memory data(all(64, 3));
  bytes host = all(64, 4);
  const bytes pattern = all(8, 5);
  expect_untouched({
      {"mem_copy to the host, no such device",
       [&](auto&) {
         return t_.mem_copy(self_, host.data(), OUTBACK_HOST, data.at(), none_, 64, nullptr);
       }},
      {"mem_copy to the device, which there is not",
       [&](auto&) {
         return t_.mem_copy(self_, data.at(), none_, host.data(), OUTBACK_HOST, 64, nullptr);
       }},
      {"mem_copy from null",
       [&](auto&) { return t_.mem_copy(self_, data.at(), 0, nullptr, OUTBACK_HOST, 64, nullptr); }},
      {"mem_fill, no such device",
       [&](auto&) { return t_.mem_fill(self_, none_, data.at(), 64, pattern.data(), 1, nullptr); }},
      {"mem_fill by three bytes",
       [&](auto&) { return t_.mem_fill(self_, 0, data.at(), 63, pattern.data(), 3, nullptr); }},
      {"mem_fill with a part of a pattern",
       [&](auto&) { return t_.mem_fill(self_, 0, data.at(), 60, pattern.data(), 8, nullptr); }},
      {"mem_fill from null",
       [&](auto&) { return t_.mem_fill(self_, 0, data.at(), 64, nullptr, 1, nullptr); }},
  });
  EXPECT_TRUE(same(host, all(64, 4)));
  EXPECT_TRUE(same(data.read(), all(64, 3)));
}

TEST_F(AtomicityTest, Streams) {
  OUTBACK_NEEDS_GROUP(streams);
  const outback_streams& streams = *t_.streams;
  expect_untouched({
      {"create, no such device",
       [&](auto& out) { return streams.create(self_, none_, 0, &out.stream); }},
      {"priorities, no such device",
       [&](auto& out) { return streams.priorities(self_, none_, &out.number, &out.other); }},
      {"priorities, the second output is null",
       [&](auto& out) { return streams.priorities(self_, 0, &out.number, nullptr); }},
      {"priorities, the first output is null",
       [&](auto& out) { return streams.priorities(self_, 0, nullptr, &out.other); }},
  });
}

TEST_F(AtomicityTest, Events) {
  OUTBACK_NEEDS_GROUP(events);
  const outback_events& events = *t_.events;
  event recorded(OUTBACK_EVENT_TIMING), never(OUTBACK_EVENT_TIMING), untimed;
  recorded.record(nullptr);
  untimed.record(nullptr);
  check(t_.device_sync(self_, 0), "device_sync");
  const auto elapsed = [&](outback_event from, outback_event to) {
    return [&, from, to](output_space& out) { return events.elapsed(self_, from, to, &out.wide); };
  };
  expect_untouched({
      {"create, no such device",
       [&](auto& out) { return events.create(self_, none_, 0, &out.event); }},
      {"elapsed from null", elapsed(nullptr, recorded)},
      {"elapsed to null", elapsed(recorded, nullptr)},
      {"elapsed from what was never recorded", elapsed(never, recorded)},
      {"elapsed to what was never recorded", elapsed(recorded, never)},
      {"elapsed from an event without timing", elapsed(untimed, recorded)},
      {"elapsed to an event without timing", elapsed(recorded, untimed)},
  });
}

TEST_F(AtomicityTest, HostMemory) {
  OUTBACK_NEEDS_GROUP(host_memory);
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  expect_untouched({
      {"alloc, of more than there is",
       [&](auto& out) { return t_.host_memory->alloc(self_, most, &out.ptr); },
       OUTBACK_OUT_OF_MEMORY},
  });
}

TEST_F(AtomicityTest, DeviceState) {
  OUTBACK_NEEDS_GROUP(device_state);
  const outback_device_state& state = *t_.device_state;
  expect_untouched({
      {"is_active, no such device",
       [&](auto& out) { return state.is_active(self_, none_, &out.number); }},
      {"memory_usage, no such device",
       [&](auto& out) { return state.memory_usage(self_, none_, &out.free, &out.total); }},
      {"memory_usage, the second output is null",
       [&](auto& out) { return state.memory_usage(self_, 0, &out.free, nullptr); }},
      {"memory_usage, the first output is null",
       [&](auto& out) { return state.memory_usage(self_, 0, nullptr, &out.total); }},
  });
}

TEST_F(AtomicityTest, Peer) {
  OUTBACK_NEEDS(table().peer != nullptr, "peer");
  const outback_peer& peer = *t_.peer;
  expect_untouched({
      {"can_access, no such device",
       [&](auto& out) { return peer.can_access(self_, none_, 0, &out.number); }},
      {"can_access, no such peer",
       [&](auto& out) { return peer.can_access(self_, 0, none_, &out.number); }},
  });
}

TEST_F(AtomicityTest, Native) {
  OUTBACK_NEEDS(table().native != nullptr, "native");
  const outback_native& native = *t_.native;
  stream s;
  event e;
  void* driver = nullptr;
  check(native.stream(self_, 0, s, &driver), "native.stream");
  expect_untouched({
      {"device, no such device", [&](auto& out) { return native.device(self_, none_, &out.ptr); }},
      {"context, no such device",
       [&](auto& out) { return native.context(self_, none_, &out.ptr); }},
      {"stream, no such device",
       [&](auto& out) { return native.stream(self_, none_, s, &out.ptr); }},
      {"event, no such device", [&](auto& out) { return native.event(self_, none_, e, &out.ptr); }},
      {"event, of null", [&](auto& out) { return native.event(self_, 0, nullptr, &out.ptr); }},
      {"wrap_stream, no such device",
       [&](auto& out) { return native.wrap_stream(self_, none_, driver, &out.stream); }},
  });
}

TEST_F(AtomicityTest, IpcMemory) {
  OUTBACK_NEEDS(table().ipc != nullptr, "ipc");
  const outback_ipc& ipc = *t_.ipc;
  memory data(4096);
  outback_ipc_handle own = {};
  own.struct_size = sizeof(own);
  own.fd = -1;
  check(ipc.get_memory(self_, 0, data.at(), &own), "ipc.get_memory");
  expect_untouched({
      {"get_memory, no such device",
       [&](auto& out) { return ipc.get_memory(self_, none_, data.at(), &out.handle); }},
      {"get_memory, of null",
       [&](auto& out) { return ipc.get_memory(self_, 0, nullptr, &out.handle); }},
      {"open_memory, no such device",
       [&](auto& out) { return ipc.open_memory(self_, none_, &own, &out.ptr); }},
      {"open_memory, of null",
       [&](auto& out) { return ipc.open_memory(self_, 0, nullptr, &out.ptr); }},
      {"open_memory, in the process that allocated it",
       [&](auto& out) { return ipc.open_memory(self_, 0, &own, &out.ptr); }},
  });
  if (own.fd >= 0) close(own.fd);
}

TEST_F(AtomicityTest, IpcEvents) {
  OUTBACK_NEEDS(table().ipc != nullptr, "ipc");
  const outback_ipc& ipc = *t_.ipc;
  event local;
  outback_ipc_handle empty = {};
  empty.struct_size = sizeof(empty);
  empty.fd = -1;
  expect_untouched({
      {"get_event, no such device",
       [&](auto& out) { return ipc.get_event(self_, none_, local, &out.handle); }},
      {"get_event, of null",
       [&](auto& out) { return ipc.get_event(self_, 0, nullptr, &out.handle); }},
      {"get_event, of one without INTERPROCESS",
       [&](auto& out) { return ipc.get_event(self_, 0, local, &out.handle); }},
      {"open_event, no such device",
       [&](auto& out) { return ipc.open_event(self_, none_, &empty, &out.event); }},
      {"open_event, of null",
       [&](auto& out) { return ipc.open_event(self_, 0, nullptr, &out.event); }},
  });
}

TEST_F(AtomicityTest, Graphs) {
  OUTBACK_NEEDS(table().graphs != nullptr, "graphs");
  const outback_graphs& graphs = *t_.graphs;
  stream s;
  expect_untouched({
      {"status, no such device",
       [&](auto& out) { return graphs.status(self_, none_, s, &out.number); }},
      {"end, no such device", [&](auto& out) { return graphs.end(self_, none_, s, &out.graph); }},
      {"end, of a stream that is in no capture",
       [&](auto& out) { return graphs.end(self_, 0, s, &out.graph); }},
      {"end, of a broken capture",
       [&](auto& out) {
         check(graphs.begin(self_, 0, s), "graphs.begin");
         EXPECT_FAILS(t_.streams->sync(self_, 0, s), OUTBACK_INVALID_ARGUMENT);
         return graphs.end(self_, 0, s, &out.graph);
       }},
  });
}

TEST_F(AtomicityTest, Telemetry) {
  OUTBACK_NEEDS(table().telemetry != nullptr, "telemetry");
  const outback_telemetry& telemetry = *t_.telemetry;
  expect_untouched({
      {"read, no such device",
       [&](auto& out) {
         return telemetry.read(self_, none_, OUTBACK_METRIC_MEMORY_USED, &out.wide);
       }},
      {"processes, no such device",
       [&](auto& out) {
         outback_processes processes = {};
         processes.struct_size = sizeof(processes);
         const outback_status status = telemetry.processes(self_, none_, &processes);
         out.wide += processes.count;
         return status;
       }},
      {"read, of a metric that nobody knows",
       [&](auto& out) { return telemetry.read(self_, 0, 100000, &out.wide); }, OUTBACK_UNSUPPORTED},
  });
}

TEST_F(AtomicityTest, Activity) {
  OUTBACK_NEEDS(table().activity != nullptr, "activity");
  const outback_activity& activity = *t_.activity;
  expect_untouched({
      {"read, no such device",
       [&](auto& out) {
         outback_records records = {};
         records.struct_size = sizeof(records);
         records.count = 77;
         const outback_status status = activity.read(self_, none_, &records);
         out.wide += int64_t(records.count) - 77;
         return status;
       }},
      {"read, of half a struct",
       [&](auto& out) {
         outback_records records = {};
         records.struct_size = sizeof(records) - sizeof(outback_record);
         records.count = 77;
         const outback_status status = activity.read(self_, 0, &records);
         out.wide += int64_t(records.count) - 77;
         return status;
       }},
      {"clock, no such device", [&](auto& out) { return activity.clock(self_, none_, &out.wide); }},
      {"stream, no such device",
       [&](auto& out) {
         uint64_t number = 77;
         const outback_status status = activity.stream(self_, none_, nullptr, &number);
         out.wide += int64_t(number) - 77;
         return status;
       }},
  });
}

}  // namespace
}  // namespace outback::suite
