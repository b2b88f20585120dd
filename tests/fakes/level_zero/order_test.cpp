// What keeps commands of one list in order, and what does not: run with and without
// OUTBACK_ZE_ADVERSARIAL.
#include <cstring>

#include "tests/fakes/level_zero/client.hpp"
#include "tests/fakes/level_zero/newer_api.hpp"

namespace outback::software_ze {
namespace {

constexpr int rounds = 60;

bool adversarial() {
  return std::getenv("OUTBACK_ZE_ADVERSARIAL") != nullptr;
}

enum class between { nothing, barrier, barrier_with_events };

class OrderTest : public testing::driver_test {
 protected:
  void SetUp() override {
    driver_test::SetUp();
    memory = host_memory(4);
  }
  void TearDown() override {
    free_memory(memory);
    driver_test::TearDown();
  }

  bool driver_keeps_order() {
    ze_api_version_t version{};
    EXPECT_SUCCESS(ZE(zeDriverGetApiVersion)(driver, &version));
    return static_cast<uint32_t>(version) >= api_version(1, 7);
  }

  void append_barrier(ze_command_list_handle_t list, between what, ze_event_handle_t signalled) {
    if (what == between::nothing) return;
    const bool events = what == between::barrier_with_events;
    EXPECT_SUCCESS(ZE(zeCommandListAppendBarrier)(list, nullptr, events ? 1 : 0,
                                                  events ? &signalled : nullptr));
  }

  /// How often a byte that three commands write and copy was wrong.
  int wrong_results(uint32_t flags, between what) {
    const auto pool = event_pool(1);
    const auto signalled = event(pool);
    EXPECT_SUCCESS(ZE(zeEventHostSignal)(signalled));
    const auto list = immediate_list(flags);
    int wrong = 0;
    for (int round = 0; round < rounds; ++round) {
      std::memset(memory, 0, 4);
      const char one = 1, two = 2;
      EXPECT_SUCCESS(
          ZE(zeCommandListAppendMemoryFill)(list, memory, &one, 1, 1, nullptr, 0, nullptr));
      append_barrier(list, what, signalled);
      EXPECT_SUCCESS(
          ZE(zeCommandListAppendMemoryCopy)(list, memory + 1, memory, 1, nullptr, 0, nullptr));
      append_barrier(list, what, signalled);
      EXPECT_SUCCESS(
          ZE(zeCommandListAppendMemoryFill)(list, memory, &two, 1, 1, nullptr, 0, nullptr));
      wait_for(list);
      if (memory[0] != std::byte{2} || memory[1] != std::byte{1}) ++wrong;
    }
    EXPECT_SUCCESS(ZE(zeCommandListDestroy)(list));
    EXPECT_SUCCESS(ZE(zeEventDestroy)(signalled));
    EXPECT_SUCCESS(ZE(zeEventPoolDestroy)(pool));
    return wrong;
  }

  std::byte* memory = nullptr;
};

TEST_F(OrderTest, BarriersKeepTheOrder) {
  EXPECT_EQ(wrong_results(0, between::barrier), 0);
}

TEST_F(OrderTest, WithoutBarriersThereIsNone) {
  const int wrong = wrong_results(0, between::nothing);
  if (adversarial()) {
    EXPECT_GT(wrong, 0);
  } else {
    EXPECT_EQ(wrong, 0) << "in the order of appending, unless OUTBACK_ZE_ADVERSARIAL is set";
  }
}

// By the specification such a barrier waits for its events only: a trap.
TEST_F(OrderTest, BarriersWithEventsDoNotWaitForWhatIsBefore) {
  const int wrong = wrong_results(0, between::barrier_with_events);
  if (adversarial()) {
    EXPECT_GT(wrong, 0);
  } else {
    EXPECT_EQ(wrong, 0);
  }
}

// A driver before 1.7 takes the flag and pays no attention.
TEST_F(OrderTest, TheInOrderFlagKeepsTheOrderWhereTheDriverKnowsIt) {
  const int wrong = wrong_results(queue_in_order, between::nothing);
  if (adversarial() && !driver_keeps_order()) {
    EXPECT_GT(wrong, 0);
  } else {
    EXPECT_EQ(wrong, 0);
  }
}

TEST_F(OrderTest, RecordedListsKeepTheOrderTheSameWay) {
  ze_command_queue_desc_t queue_desc{};
  queue_desc.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
  queue_desc.mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
  ze_command_queue_handle_t queue = nullptr;
  ASSERT_SUCCESS(ZE(zeCommandQueueCreate)(context, devices[0], &queue_desc, &queue));
  const auto wrong_with = [&](uint32_t flags) {
    const ze_command_list_desc_t desc{ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, nullptr, 0, flags};
    ze_command_list_handle_t list = nullptr;
    EXPECT_SUCCESS(ZE(zeCommandListCreate)(context, devices[0], &desc, &list));
    const char one = 1, two = 2;
    EXPECT_SUCCESS(
        ZE(zeCommandListAppendMemoryFill)(list, memory, &one, 1, 1, nullptr, 0, nullptr));
    EXPECT_SUCCESS(
        ZE(zeCommandListAppendMemoryCopy)(list, memory + 1, memory, 1, nullptr, 0, nullptr));
    EXPECT_SUCCESS(
        ZE(zeCommandListAppendMemoryFill)(list, memory, &two, 1, 1, nullptr, 0, nullptr));
    EXPECT_SUCCESS(ZE(zeCommandListClose)(list));
    int wrong = 0;
    for (int round = 0; round < rounds; ++round) {
      std::memset(memory, 0, 4);
      EXPECT_SUCCESS(ZE(zeCommandQueueExecuteCommandLists)(queue, 1, &list, nullptr));
      if (memory[0] != std::byte{2} || memory[1] != std::byte{1}) ++wrong;
    }
    EXPECT_SUCCESS(ZE(zeCommandListDestroy)(list));
    return wrong;
  };
  const int wrong = wrong_with(0), wrong_in_order = wrong_with(list_in_order);
  EXPECT_EQ(wrong > 0, adversarial());
  EXPECT_EQ(wrong_in_order > 0, adversarial() && !driver_keeps_order());
  EXPECT_SUCCESS(ZE(zeCommandQueueDestroy)(queue));
}

TEST_F(OrderTest, EventsKeepTheOrder) {
  const auto pool = event_pool(2);
  ze_event_handle_t filled = event(pool, 0), copied = event(pool, 1);
  const auto list = immediate_list();
  for (int round = 0; round < rounds; ++round) {
    std::memset(memory, 0, 4);
    const char one = 1, two = 2;
    EXPECT_SUCCESS(ZE(zeCommandListAppendMemoryFill)(list, memory, &one, 1, 1, filled, 0, nullptr));
    EXPECT_SUCCESS(
        ZE(zeCommandListAppendMemoryCopy)(list, memory + 1, memory, 1, copied, 1, &filled));
    EXPECT_SUCCESS(
        ZE(zeCommandListAppendMemoryFill)(list, memory, &two, 1, 1, nullptr, 1, &copied));
    wait_for(list);
    EXPECT_EQ(memory[0], std::byte{2});
    EXPECT_EQ(memory[1], std::byte{1});
    EXPECT_SUCCESS(ZE(zeEventHostReset)(filled));
    EXPECT_SUCCESS(ZE(zeEventHostReset)(copied));
  }
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(list));
  EXPECT_SUCCESS(ZE(zeEventDestroy)(filled));
  EXPECT_SUCCESS(ZE(zeEventDestroy)(copied));
  EXPECT_SUCCESS(ZE(zeEventPoolDestroy)(pool));
}

}  // namespace
}  // namespace outback::software_ze
