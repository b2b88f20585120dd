// Command lists that somebody else made, and appends to beside the runtime.
//
// The table has no context to make such a list in, so these tests use the runtime's parts.
#include <gtest/gtest.h>

#include <vector>

#include "backend_template/runtimes/level_zero/platform.hpp"
#include "tests/runtime/level_zero/own_process.hpp"

namespace outback::test_level_zero {
namespace {

using namespace outback::level_zero;

constexpr std::size_t size = 4096;

platform& platform_of_process() {
  static platform& it = *new platform(options_from_environment());  // leaked, as the runtime's is
  return it;
}

struct foreign_list {
  platform& all = platform_of_process();
  device& d = *all.devices().at(0);
  const driver_api& api = d.of().api();
  ze_command_list_handle_t list = nullptr;
  unsigned char* memory = nullptr;

  foreign_list() {
    ze_command_queue_desc_t desc = {};
    desc.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
    desc.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
    check(api.zeCommandListCreateImmediate(d.context(), d.handle(), &desc, &list), "create");
    ze_host_mem_alloc_desc_t host = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};
    void* made = nullptr;
    check(api.zeMemAllocHost(d.context(), &host, size, 64, &made), "zeMemAllocHost");
    memory = static_cast<unsigned char*>(made);
  }

  auto fill(unsigned char value) {
    return [this, value](ze_event_handle_t done) {
      return api.zeCommandListAppendMemoryFill(list, memory, &value, 1, size, done, 0, nullptr);
    };
  }

  void fill_by(command_queue& q, unsigned char value) const {
    q.append(api.zeCommandListAppendMemoryFill, static_cast<void*>(memory),
             static_cast<const void*>(&value), std::size_t{1}, std::size_t{size});
  }
};

bool all_are(const unsigned char* memory, unsigned char value) {
  return std::vector<unsigned char>(memory, memory + size) ==
         std::vector<unsigned char>(size, value);
}

// Asking enqueues something, which a machine at work may take a while to get to.
void wait_until_idle(command_queue& q) {
  while (!q.idle()) {
  }
}

TEST(ForeignListTest, KeepsTheRuntimesOrderAfterOthers) {
  for (const char* api : {"1.3", "1.10"}) {
    OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_ADVERSARIAL", "3"}, {"OUTBACK_ZE_API", api}}), {
      foreign_list f;
      stream* const s = f.d.wrap_stream(f.list);
      for (unsigned char round = 0; round < 50; ++round) {
        check(f.fill(100)(nullptr), "somebody else's fill");
        f.fill_by(*s->work, 101);
        f.fill_by(*s->work, round);
        s->work->sync();
        EXPECT_TRUE(all_are(f.memory, round)) << int(round);
      }
      f.d.destroy_stream(s);
    });
  }
}

// Its last work may be somebody else's, which the runtime has not seen.
TEST(ForeignListTest, IsNotIdleWhileOthersWork) {
  OUTBACK_IN_ITS_OWN_PROCESS(({}), {
    foreign_list f;
    stream* const s = f.d.wrap_stream(f.list);
    wait_until_idle(*s->work);
    OUTBACK_ZE_CONTROL(outback_ze_pause)();
    check(f.fill(1)(nullptr), "somebody else's fill");
    EXPECT_FALSE(s->work->idle());
    OUTBACK_ZE_CONTROL(outback_ze_resume)();
    s->work->sync();
    EXPECT_TRUE(all_are(f.memory, 1));
    wait_until_idle(*s->work);
    f.d.destroy_stream(s);
  });
}

TEST(ForeignListTest, WrappedTwiceIsOneQueue) {
  OUTBACK_IN_ITS_OWN_PROCESS(({}), {
    foreign_list f;
    stream* const first = f.d.wrap_stream(f.list);
    stream* const second = f.d.wrap_stream(f.list);
    EXPECT_NE(first, second);
    EXPECT_EQ(first->work, second->work);
    f.d.destroy_stream(first);
    f.fill_by(*second->work, 7);
    second->work->sync();
    EXPECT_TRUE(all_are(f.memory, 7));
    f.d.destroy_stream(second);
    f.d.sync();
    check(f.api.zeCommandListDestroy(f.list), "zeCommandListDestroy");  // whose it is
  });
}

// The runtime's own list, which a vendor's code got and appends to.
TEST(ForeignListTest, AListThatWasHandedOutIsNotBelievedToBeIdle) {
  for (const char* how : {"0", "1"}) {
    OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_IN_ORDER", how}}), {
      foreign_list f;
      command_queue& q = f.d.default_queue();
      q.sync();
      q.expose();
      f.list = q.list();
      OUTBACK_ZE_CONTROL(outback_ze_pause)();
      check(f.fill(3)(nullptr), "a vendor's fill");
      EXPECT_FALSE(q.idle());
      OUTBACK_ZE_CONTROL(outback_ze_resume)();
      q.sync();
      EXPECT_TRUE(all_are(f.memory, 3));
    });
  }
}

}  // namespace
}  // namespace outback::test_level_zero
