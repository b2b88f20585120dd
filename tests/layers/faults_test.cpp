// Faults happen at the calls that were named, and what is no fault is refused with its place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/layers/layers_testing.hpp"

namespace outback::layers {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class FaultTest : public testing::Test {
 protected:
  void use(const char* faults) { set_faults(table_, parse_faults(faults)); }

  outback_status sync(int32_t device = 0) { return table_->device_sync(table_->self, device); }
  std::vector<outback_status> syncs(int count) {
    std::vector<outback_status> all;
    for (int i = 0; i < count; ++i) all.push_back(sync());
    return all;
  }
  std::string text() const { return text_of(table_); }

  const outback_runtime* const table_ = inject(host_table(true, 3), {});
};

constexpr outback_status ok = OUTBACK_OK, bad = OUTBACK_INTERNAL, lost = OUTBACK_DEVICE_LOST;

TEST_F(FaultTest, TheNthCallFails) {
  use("device_sync:3=internal");
  EXPECT_THAT(syncs(5), ElementsAre(ok, ok, bad, ok, ok));
  EXPECT_EQ(text(), "injected fault: device_sync, call 3: internal");
}

TEST_F(FaultTest, AllCallsFromOneOnFail) {
  use("device_sync:3+=internal");
  EXPECT_THAT(syncs(5), ElementsAre(ok, ok, bad, bad, bad));
}

TEST_F(FaultTest, EveryCallFails) {
  use("device_sync:*=internal");
  EXPECT_THAT(syncs(3), ElementsAre(bad, bad, bad));
}

TEST_F(FaultTest, EveryKthCallFails) {
  use("device_sync:*/2=internal");
  EXPECT_THAT(syncs(5), ElementsAre(ok, bad, ok, bad, ok));
}

TEST_F(FaultTest, TheFirstOfSeveralCountsAndEachForItself) {
  use("device_sync:2=out_of_memory; device_sync:2+=internal ;device_sync:4=unsupported");
  EXPECT_THAT(syncs(4), ElementsAre(ok, OUTBACK_OUT_OF_MEMORY, bad, bad));
}

TEST_F(FaultTest, TheRuntimeIsNotCalledAndOutputsStay) {
  use("mem_alloc:1=out_of_memory; mem_free:1=internal");
  void* ptr = this;
  EXPECT_EQ(table_->mem_alloc(table_->self, 0, 64, &ptr), OUTBACK_OUT_OF_MEMORY);
  EXPECT_EQ(ptr, this);
  EXPECT_EQ(text(), "injected fault: mem_alloc, call 1: out_of_memory");
  ASSERT_EQ(table_->mem_alloc(table_->self, 0, 64, &ptr), OUTBACK_OK);
  EXPECT_EQ(table_->mem_free(table_->self, 0, ptr), OUTBACK_INTERNAL);
  EXPECT_EQ(table_->mem_free(table_->self, 0, ptr), OUTBACK_OK) << "it was freed before";
}

TEST_F(FaultTest, OtherSlotsAreNotConcerned) {
  use("streams.sync:*=internal");
  EXPECT_EQ(sync(), OUTBACK_OK);
  EXPECT_EQ(table_->streams->query(table_->self, 0, nullptr), OUTBACK_OK);
  EXPECT_EQ(table_->streams->sync(table_->self, 0, nullptr), OUTBACK_INTERNAL);
  EXPECT_EQ(text(), "injected fault: streams.sync, call 1: internal");
  use("stream_sync:*=unsupported");
  EXPECT_EQ(table_->streams->sync(table_->self, 0, nullptr), OUTBACK_UNSUPPORTED);
}

TEST_F(FaultTest, AllSlotsCountTogether) {
  use("*:3=internal");
  EXPECT_EQ(sync(), OUTBACK_OK);
  EXPECT_EQ(table_->streams->sync(table_->self, 0, nullptr), OUTBACK_OK);
  EXPECT_EQ(table_->host_memory->free(table_->self, nullptr), OUTBACK_INTERNAL);
  EXPECT_EQ(sync(), OUTBACK_OK);
}

TEST_F(FaultTest, NotReadyIsAnAnswer) {
  use("streams.query:2=not_ready");
  EXPECT_EQ(table_->streams->query(table_->self, 0, nullptr), OUTBACK_OK);
  EXPECT_EQ(table_->streams->query(table_->self, 0, nullptr), OUTBACK_NOT_READY);
  EXPECT_EQ(table_->streams->query(table_->self, 0, nullptr), OUTBACK_OK);
}

TEST_F(FaultTest, OneDevicesCallsAreCounted) {
  use("device_sync:2=internal@1");
  EXPECT_EQ(sync(1), OUTBACK_OK);
  EXPECT_EQ(sync(0), OUTBACK_OK);
  EXPECT_EQ(sync(0), OUTBACK_OK);
  EXPECT_EQ(sync(1), OUTBACK_INTERNAL);
  EXPECT_EQ(sync(1), OUTBACK_OK);
}

TEST_F(FaultTest, ALostDeviceStaysLostAndTheOthersDoNotNotice) {
  use("device_sync:2=device_lost@1");
  EXPECT_EQ(sync(1), OUTBACK_OK);
  EXPECT_EQ(sync(1), lost);
  EXPECT_EQ(text(), "injected fault: device_sync, call 2: device_lost");
  void* ptr = nullptr;
  EXPECT_EQ(table_->mem_alloc(table_->self, 1, 64, &ptr), lost);
  EXPECT_EQ(text(), "injected fault: device 1 is lost since device_sync, call 2");
  EXPECT_EQ(table_->streams->sync(table_->self, 1, nullptr), lost);
  EXPECT_EQ(sync(0), OUTBACK_OK);
  EXPECT_EQ(sync(2), OUTBACK_OK);
  ASSERT_EQ(table_->mem_alloc(table_->self, 0, 64, &ptr), OUTBACK_OK);
  int64_t host = 0;
  EXPECT_EQ(table_->mem_copy(table_->self, ptr, 0, &host, OUTBACK_HOST, 8, nullptr), OUTBACK_OK);
  EXPECT_EQ(table_->mem_copy(table_->self, ptr, 0, &host, 1, 8, nullptr), lost);
  use("");
  EXPECT_EQ(sync(1), OUTBACK_OK);
}

// It is the one whose stream a copy would use; or the one that was named.
TEST_F(FaultTest, ACopyLosesOneOfItsDevices) {
  void *from = nullptr, *to = nullptr;
  ASSERT_EQ(table_->mem_alloc(table_->self, 0, 64, &from), OUTBACK_OK);
  ASSERT_EQ(table_->mem_alloc(table_->self, 1, 64, &to), OUTBACK_OK);
  for (const bool named : {false, true}) {
    use(named ? "mem_copy:1=device_lost@1" : "mem_copy:1=device_lost");
    EXPECT_EQ(table_->mem_copy(table_->self, to, 1, from, 0, 8, nullptr), lost);
    EXPECT_EQ(sync(0), named ? OUTBACK_OK : lost);
    EXPECT_EQ(sync(1), named ? lost : OUTBACK_OK);
  }
}

TEST_F(FaultTest, CallsAreDelayed) {
  use("device_sync:2=delay(30ms)");
  const auto time = [&] {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(sync(), OUTBACK_OK);
    return std::chrono::steady_clock::now() - begin;
  };
  EXPECT_LT(time(), std::chrono::milliseconds(30));
  EXPECT_GE(time(), std::chrono::milliseconds(30));
  EXPECT_LT(time(), std::chrono::milliseconds(30));
}

TEST_F(FaultTest, TheApiSaysTheSame) {
  set_faults(table_, {{.slot = "device_sync", .first = 2, .every = 2, .status = bad}});
  EXPECT_THAT(syncs(4), ElementsAre(ok, bad, ok, bad));
  EXPECT_THAT(refusal_of([&] { set_faults(table_, {{.slot = "mem_aloc"}}); }),
              HasSubstr("fault of \"mem_aloc\": expected a slot"));
  EXPECT_THAT(refusal_of([&] { set_faults(table_, {{.first = 0}}); }), HasSubstr("from 1 on"));
  EXPECT_THAT(refusal_of([&] { set_faults(table_, {{.status = 42}}); }), HasSubstr("status"));
  EXPECT_THAT(refusal_of([&] { set_faults(host_table(), {}); }), HasSubstr("no table of inject"));
  EXPECT_THAT(syncs(2), ElementsAre(ok, bad)) << "a refused change has changed something";
}

// One slot of each group, by the name in the header and by that of the class.
TEST(FaultGroupsTest, EveryGroupCanFail) {
  const outback_runtime* t = inject(whole_table(), {});
  std::byte host[64] = {};
  int32_t number = -7;
  int64_t value = -7;
  void* ptr = this;
  outback_stream s = nullptr;
  outback_ipc_handle handle = {};
  handle.struct_size = sizeof(handle);
  const auto expect = [&](const char* slot, const char* member, const auto& call) {
    for (const char* name : {slot, member}) {
      set_faults(t, parse_faults(std::string(name) + ":1=unsupported"));
      EXPECT_EQ(call(), OUTBACK_UNSUPPORTED) << name;
      EXPECT_EQ(text_of(t), "injected fault: " + std::string(slot) + ", call 1: unsupported");
    }
  };
  expect("host_registration.add", "host_register",
         [&] { return t->host_registration->add(t->self, host, 64); });
  expect("peer.can_access", "peer_can_access",
         [&] { return t->peer->can_access(t->self, 0, 1, &number); });
  expect("native.wrap_stream", "native_wrap_stream",
         [&] { return t->native->wrap_stream(t->self, 0, host, &s); });
  expect("callbacks.enqueue", "callback_enqueue",
         [&] { return t->callbacks->enqueue(t->self, 0, [](void*) {}, host, nullptr); });
  expect("ipc.open_memory", "ipc_open_memory",
         [&] { return t->ipc->open_memory(t->self, 0, &handle, &ptr); });
  expect("graphs.status", "graph_status",
         [&] { return t->graphs->status(t->self, 0, nullptr, &number); });
  expect("telemetry.read", "telemetry_read",
         [&] { return t->telemetry->read(t->self, 0, OUTBACK_METRIC_MEMORY_USED, &value); });
  expect("activity.clock", "activity_clock",
         [&] { return t->activity->clock(t->self, 0, &value); });
  expect("activity.push", "activity_push", [&] { return t->activity->push(t->self, 1); });
  EXPECT_EQ(number, -7);
  EXPECT_EQ(value, -7);
  EXPECT_EQ(ptr, this);
  EXPECT_EQ(s, nullptr);
}

TEST(FaultGroupsTest, OfADeviceAndItsPeerTheDeviceIsLost) {
  const outback_runtime* t = inject(whole_table(3), parse_faults("peer.enable:1=device_lost"));
  EXPECT_EQ(t->peer->enable(t->self, 1, 2), lost);
  EXPECT_EQ(t->device_sync(t->self, 1), lost);
  EXPECT_EQ(t->device_sync(t->self, 2), OUTBACK_OK);
  EXPECT_EQ(t->peer->enable(t->self, 2, 1), lost) << "it names the lost one";
}

// As it is in the contract: what was captured is gone, and the next capture can begin.
TEST(FaultGroupsTest, AnEndThatFailsEndsTheCapture) {
  const outback_runtime* below = whole_table();
  const outback_runtime* t = inject(below, parse_faults("graphs.end:1=out_of_memory"));
  outback_graph g = nullptr;
  outback_capture capture = -7;
  ASSERT_EQ(t->graphs->begin(t->self, 0, nullptr), OUTBACK_OK);
  EXPECT_EQ(t->graphs->end(t->self, 0, nullptr, &g), OUTBACK_OUT_OF_MEMORY);
  EXPECT_EQ(text_of(t), "injected fault: graphs.end, call 1: out_of_memory");
  EXPECT_EQ(g, nullptr);
  EXPECT_EQ(below->graphs->status(below->self, 0, nullptr, &capture), OUTBACK_OK);
  EXPECT_EQ(capture, OUTBACK_CAPTURE_NONE);
  EXPECT_EQ(t->graphs->begin(t->self, 0, nullptr), OUTBACK_OK);
  EXPECT_EQ(t->graphs->end(t->self, 0, nullptr, &g), OUTBACK_OK);
}

TEST(FaultGrammarTest, WhatItStandsFor) {
  const auto all = parse_faults(
      " mem_alloc:3=out_of_memory;stream_sync:*=delay(5ms) ; mem_copy:*/10=device_lost@1;;"
      "*:4+ = delay( 2 s ) ;");
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].slot, "mem_alloc");
  EXPECT_EQ(all[0].first, 3u);
  EXPECT_EQ(all[0].every, 0u);
  EXPECT_EQ(all[0].status, OUTBACK_OUT_OF_MEMORY);
  EXPECT_EQ(all[0].device, fault::any_device);
  EXPECT_EQ(all[1].slot, "stream_sync");
  EXPECT_EQ(all[1].first, 1u);
  EXPECT_EQ(all[1].every, 1u);
  EXPECT_EQ(all[1].status, OUTBACK_OK);
  EXPECT_EQ(all[1].delay, std::chrono::milliseconds(5));
  EXPECT_EQ(all[2].first, 10u);
  EXPECT_EQ(all[2].every, 10u);
  EXPECT_EQ(all[2].device, 1);
  EXPECT_EQ(all[2].status, OUTBACK_DEVICE_LOST);
  EXPECT_EQ(all[3].slot, "*");
  EXPECT_EQ(all[3].first, 4u);
  EXPECT_EQ(all[3].every, 1u);
  EXPECT_EQ(all[3].delay, std::chrono::seconds(2));
  EXPECT_TRUE(parse_faults("").empty());
  EXPECT_TRUE(parse_faults(" ; ;").empty());
}

struct wrong {
  const char *text, *where, *why;
};

class FaultGrammarErrorTest : public testing::TestWithParam<wrong> {};

TEST_P(FaultGrammarErrorTest, SaysWhereAndWhatIsExpected) {
  const auto [text, where, why] = GetParam();
  EXPECT_EQ(refusal_of([&, t = text] { parse_faults(t); }),
            "faults \"" + std::string(text) + "\", " + where + ": " + why);
}

constexpr const char* statuses =
    "expected delay(5ms) or a status: invalid_argument, out_of_memory, device_lost, unsupported, "
    "internal or not_ready";

INSTANTIATE_TEST_SUITE_P(
    All, FaultGrammarErrorTest,
    testing::Values(
        wrong{"mem_aloc:1=internal", "character 1 (\"mem_aloc:1=internal\")",
              "expected a slot of outback/runtime.h, such as mem_alloc or streams.sync, or *"},
        wrong{"mem_free:1=internal; 7", "character 22 (\"7\")",
              "expected a slot, such as mem_alloc or streams.sync, or *"},
        wrong{"mem_alloc", "at the end", "expected : and which calls"},
        wrong{"mem_alloc=internal", "character 10 (\"=internal\")", "expected : and which calls"},
        wrong{"mem_alloc:", "at the end", "expected 3, 3+, * or */3"},
        wrong{"mem_alloc:x=internal", "character 11 (\"x=internal\")", "expected 3, 3+, * or */3"},
        wrong{"mem_alloc:-1=internal", "character 11 (\"-1=internal\")",
              "expected 3, 3+, * or */3"},
        wrong{"mem_alloc:0=internal", "character 11 (\"0=internal\")",
              "expected a number above 0: the first call is 1"},
        wrong{"mem_alloc:*/0=internal", "character 13 (\"0=internal\")",
              "expected a number above 0"},
        wrong{"mem_alloc:99999999999999999999=internal",
              "character 11 (\"99999999999999999999=internal\")", "expected a number below 2^64"},
        wrong{"mem_alloc:3", "at the end", "expected = and what happens"},
        wrong{"mem_alloc:3=", "at the end", statuses},
        wrong{"mem_alloc:3=ok", "character 13 (\"ok\")", statuses},
        wrong{"mem_alloc:3=out_of_memry;x", "character 13 (\"out_of_memry\")", statuses},
        wrong{"mem_alloc:3=not_ready", "character 13 (\"not_ready\")",
              "not_ready is an answer of streams.query, events.query and events.elapsed only"},
        wrong{"mem_alloc:3=delay", "at the end", "expected ( and a time, such as 5ms"},
        wrong{"mem_alloc:3=delay(ms)", "character 19 (\"ms)\")", "expected a time, such as 5ms"},
        wrong{"mem_alloc:3=delay(5)", "character 20 (\")\")", "expected ns, us, ms or s"},
        wrong{"mem_alloc:3=delay(5min)", "character 20 (\"min)\")", "expected ns, us, ms or s"},
        wrong{"mem_alloc:3=delay(3601s)", "character 19 (\"3601s)\")",
              "expected a delay of up to an hour"},
        wrong{"mem_alloc:3=delay(5ms", "at the end", "expected )"},
        wrong{"mem_alloc:3=internal@", "at the end", "expected a device"},
        wrong{"mem_alloc:3=internal@40000", "character 22 (\"40000\")", "expected a device"},
        wrong{"mem_alloc:3=internal,mem_free:1=internal", "character 21 (\",mem_free:1=internal\")",
              "expected ; or the end"},
        wrong{"host_memory.alloc:3=internal@1", "character 30 (\"1\")",
              "host_memory.alloc names no device"},
        wrong{"host_memory.alloc:3=device_lost", "character 21 (\"device_lost\")",
              "host_memory.alloc names no device that could be lost"}));

}  // namespace
}  // namespace outback::layers
