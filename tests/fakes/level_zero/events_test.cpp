// Events, barriers, lists, queues and fences: what waits for what.
#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/fakes/level_zero/client.hpp"

namespace outback::software_ze {
namespace {

class EventsTest : public testing::driver_test {
 protected:
  void fill(ze_command_list_handle_t list, void* into, char value, std::size_t size,
            ze_event_handle_t signals = nullptr, std::vector<ze_event_handle_t> waits = {}) {
    EXPECT_SUCCESS(ZE(zeCommandListAppendMemoryFill)(list, into, &value, 1, size, signals,
                                                     static_cast<uint32_t>(waits.size()),
                                                     waits.empty() ? nullptr : waits.data()));
  }
};

TEST_F(EventsTest, AnEventIsSignalledWhenItsCommandIsDone) {
  const auto pool = event_pool(2);
  const auto done = event(pool, 1);
  const auto list = immediate_list();
  auto* memory = host_memory(1000);
  CONTROL(outback_ze_pause)();
  fill(list, memory, 9, 1000, done);
  EXPECT_EQ(ZE(zeEventQueryStatus)(done), ZE_RESULT_NOT_READY);
  EXPECT_EQ(ZE(zeEventHostSynchronize)(done, 1000000), ZE_RESULT_NOT_READY);
  EXPECT_EQ(memory[999], std::byte{0});
  CONTROL(outback_ze_resume)();
  EXPECT_SUCCESS(ZE(zeEventHostSynchronize)(done, testing::forever));
  EXPECT_EQ(memory[999], std::byte{9});
  EXPECT_SUCCESS(ZE(zeEventQueryStatus)(done));
  EXPECT_SUCCESS(ZE(zeEventHostReset)(done));
  EXPECT_EQ(ZE(zeEventQueryStatus)(done), ZE_RESULT_NOT_READY);
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(list));
  EXPECT_SUCCESS(ZE(zeEventDestroy)(done));
  EXPECT_SUCCESS(ZE(zeEventPoolDestroy)(pool));
  free_memory(memory);
}

TEST_F(EventsTest, ListsOfTwoDevicesWaitForEachOther) {
  const auto pool = event_pool(1);
  const auto done = event(pool);
  const auto first = immediate_list();
  const auto second = immediate_list(0, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS, 1);
  auto* memory = host_memory(2);
  fill(second, memory + 1, 2, 1, nullptr, {done});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(memory[1], std::byte{0});
  fill(first, memory, 1, 1, done);
  wait_for(second);
  EXPECT_EQ(memory[0], std::byte{1});
  EXPECT_EQ(memory[1], std::byte{2});
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(first));
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(second));
  EXPECT_SUCCESS(ZE(zeEventDestroy)(done));
  EXPECT_SUCCESS(ZE(zeEventPoolDestroy)(pool));
  free_memory(memory);
}

TEST_F(EventsTest, TheHostSignalsToo) {
  const auto pool = event_pool(1);
  auto go = event(pool);
  const auto list = immediate_list();
  auto* memory = host_memory(1);
  EXPECT_SUCCESS(ZE(zeCommandListAppendWaitOnEvents)(list, 1, &go));
  fill(list, memory, 5, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(memory[0], std::byte{0});
  EXPECT_SUCCESS(ZE(zeEventHostSignal)(go));
  wait_for(list);
  EXPECT_EQ(memory[0], std::byte{5});
  EXPECT_SUCCESS(ZE(zeCommandListAppendEventReset)(list, go));
  wait_for(list);
  EXPECT_EQ(ZE(zeEventQueryStatus)(go), ZE_RESULT_NOT_READY);
  EXPECT_SUCCESS(ZE(zeCommandListAppendSignalEvent)(list, go));
  EXPECT_SUCCESS(ZE(zeEventHostSynchronize)(go, testing::forever));
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(list));
  EXPECT_SUCCESS(ZE(zeEventDestroy)(go));
  EXPECT_SUCCESS(ZE(zeEventPoolDestroy)(pool));
  free_memory(memory);
}

TEST_F(EventsTest, RecordedListsRunEachTimeTheyAreExecuted) {
  auto* memory = host_memory(100);
  ze_command_queue_desc_t queue_desc{};
  queue_desc.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
  queue_desc.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
  ze_command_queue_handle_t queue = nullptr;
  ASSERT_SUCCESS(ZE(zeCommandQueueCreate)(context, devices[0], &queue_desc, &queue));
  const ze_fence_desc_t fence_desc{ZE_STRUCTURE_TYPE_FENCE_DESC, nullptr, 0};
  ze_fence_handle_t fence = nullptr;
  ASSERT_SUCCESS(ZE(zeFenceCreate)(queue, &fence_desc, &fence));
  const ze_command_list_desc_t list_desc{ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, nullptr, 0, 0};
  ze_command_list_handle_t list = nullptr;
  ASSERT_SUCCESS(ZE(zeCommandListCreate)(context, devices[0], &list_desc, &list));
  fill(list, memory, 3, 100);
  EXPECT_EQ(ZE(zeCommandQueueExecuteCommandLists)(queue, 1, &list, fence),
            ZE_RESULT_ERROR_INVALID_ARGUMENT);
  expect_violation("executed before it was closed");
  EXPECT_SUCCESS(ZE(zeCommandListClose)(list));
  for (int time = 0; time < 3; ++time) {
    std::memset(memory, 0, 100);
    EXPECT_SUCCESS(ZE(zeCommandQueueExecuteCommandLists)(queue, 1, &list, fence));
    EXPECT_SUCCESS(ZE(zeFenceHostSynchronize)(fence, testing::forever));
    EXPECT_EQ(memory[99], std::byte{3});
    EXPECT_SUCCESS(ZE(zeFenceQueryStatus)(fence));
    EXPECT_SUCCESS(ZE(zeFenceReset)(fence));
    EXPECT_EQ(ZE(zeFenceQueryStatus)(fence), ZE_RESULT_NOT_READY);
  }
  EXPECT_SUCCESS(ZE(zeCommandQueueSynchronize)(queue, testing::forever));
  EXPECT_SUCCESS(ZE(zeCommandListReset)(list));
  fill(list, memory, 4, 100);
  EXPECT_SUCCESS(ZE(zeCommandListClose)(list));
  EXPECT_SUCCESS(ZE(zeCommandQueueExecuteCommandLists)(queue, 1, &list, nullptr));
  EXPECT_SUCCESS(ZE(zeCommandQueueSynchronize)(queue, testing::forever));
  EXPECT_EQ(memory[99], std::byte{4});
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(list));
  EXPECT_SUCCESS(ZE(zeFenceDestroy)(fence));
  EXPECT_SUCCESS(ZE(zeCommandQueueDestroy)(queue));
  free_memory(memory);
}

TEST_F(EventsTest, RecordedListsMayNotOutliveWhatTheyName) {
  ze_command_queue_desc_t queue_desc{};
  queue_desc.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
  ze_command_queue_handle_t queue = nullptr;
  ASSERT_SUCCESS(ZE(zeCommandQueueCreate)(context, devices[0], &queue_desc, &queue));
  const ze_command_list_desc_t list_desc{ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, nullptr, 0, 0};
  ze_command_list_handle_t list = nullptr;
  ASSERT_SUCCESS(ZE(zeCommandListCreate)(context, devices[0], &list_desc, &list));
  auto* memory = device_memory(100);
  fill(list, memory, 3, 100);
  EXPECT_SUCCESS(ZE(zeCommandListClose)(list));
  free_memory(memory);
  EXPECT_EQ(ZE(zeCommandQueueExecuteCommandLists)(queue, 1, &list, nullptr),
            ZE_RESULT_ERROR_INVALID_ARGUMENT);
  expect_violation("a command list names memory that was freed");
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(list));
  const auto pool = event_pool(1);
  const auto done = event(pool);
  ASSERT_SUCCESS(ZE(zeCommandListCreate)(context, devices[0], &list_desc, &list));
  EXPECT_SUCCESS(ZE(zeCommandListAppendSignalEvent)(list, done));
  EXPECT_SUCCESS(ZE(zeCommandListClose)(list));
  EXPECT_SUCCESS(ZE(zeEventDestroy)(done));
  EXPECT_EQ(ZE(zeCommandQueueExecuteCommandLists)(queue, 1, &list, nullptr),
            ZE_RESULT_ERROR_INVALID_ARGUMENT);
  expect_violation("a command list names an event that was destroyed");
  EXPECT_SUCCESS(ZE(zeEventPoolDestroy)(pool));
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(list));
  EXPECT_SUCCESS(ZE(zeCommandQueueDestroy)(queue));
}

TEST_F(EventsTest, EventsInFlightMayNotBeResetOrDestroyed) {
  const auto pool = event_pool(1);
  const auto done = event(pool);
  const auto list = immediate_list();
  CONTROL(outback_ze_pause)();
  EXPECT_SUCCESS(ZE(zeCommandListAppendSignalEvent)(list, done));
  EXPECT_SUCCESS(ZE(zeEventHostReset)(done));
  expect_violation("zeEventHostReset: the event is reset while commands");
  EXPECT_SUCCESS(ZE(zeEventDestroy)(done));
  expect_violation("zeEventDestroy: the event is destroyed while commands");
  EXPECT_EQ(ZE(zeEventQueryStatus)(done), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  expect_violation("is no event any more: it was destroyed");
  CONTROL(outback_ze_resume)();
  wait_for(list);
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(list));
  EXPECT_SUCCESS(ZE(zeEventPoolDestroy)(pool));
}

TEST_F(EventsTest, AListInUseMayNotBeDestroyed) {
  const auto list = immediate_list();
  CONTROL(outback_ze_pause)();
  EXPECT_SUCCESS(ZE(zeCommandListAppendBarrier)(list, nullptr, 0, nullptr));
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(list));
  expect_violation("destroyed while the device works on it");
  EXPECT_EQ(ZE(zeCommandListAppendBarrier)(list, nullptr, 0, nullptr),
            ZE_RESULT_ERROR_INVALID_ARGUMENT);
  expect_violation("is no command list any more");
}

TEST_F(EventsTest, PlacesOfAPoolAreForOneEvent) {
  const auto pool = event_pool(1);
  const auto first = event(pool);
  const ze_event_desc_t desc{ZE_STRUCTURE_TYPE_EVENT_DESC, nullptr, 0, 0, 0};
  ze_event_handle_t second = nullptr;
  EXPECT_EQ(ZE(zeEventCreate)(pool, &desc, &second), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  expect_violation("another event has this index");
  EXPECT_SUCCESS(ZE(zeEventPoolDestroy)(pool));
  expect_violation("1 events of the pool live");
  EXPECT_SUCCESS(ZE(zeEventDestroy)(first));
}

TEST_F(EventsTest, TwoThreadsOnOneListAreAViolation) {
  const auto list = immediate_list(0, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  CONTROL(outback_ze_pause)();  // so that whichever comes first stays inside its append
  std::array<ze_result_t, 2> results{};
  std::vector<std::thread> both;
  for (ze_result_t& result : results) {
    both.emplace_back([&] { result = ZE(zeCommandListAppendBarrier)(list, nullptr, 0, nullptr); });
  }
  while (CONTROL(outback_ze_violations)() == 0) std::this_thread::yield();
  CONTROL(outback_ze_resume)();
  for (std::thread& each : both) each.join();
  EXPECT_THAT(results,
              ::testing::UnorderedElementsAre(ZE_RESULT_SUCCESS, ZE_RESULT_ERROR_INVALID_ARGUMENT));
  expect_violation("two threads use one command list at once");
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(list));
}

}  // namespace
}  // namespace outback::software_ze
