// zeCommandQueue* and zeFence*.
#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "tests/fakes/level_zero/entry_points.hpp"
#include "tests/fakes/level_zero/serve.hpp"
#include "tests/fakes/level_zero/violations.hpp"
#include "tests/fakes/level_zero/world.hpp"

namespace outback::software_ze {
namespace queue_entries {

ze_result_t create(ze_context_handle_t handle, ze_device_handle_t device_handle,
                   const ze_command_queue_desc_t* desc, ze_command_queue_handle_t* made) {
  const auto of = the_world().contexts.find(handle);
  const auto on = the_world().devices.find(device_handle);
  require_pointer(desc);
  require_pointer(made);
  on->require_present();
  check_queue(*desc);
  *made = the_world().queues.add(std::make_shared<command_queue>(of, on, *desc));
  return ZE_RESULT_SUCCESS;
}

ze_result_t destroy(ze_command_queue_handle_t handle) {
  const auto taken = the_world().queues.take(handle);
  if (taken->work.in_use() > 0) {
    report_violation("the command queue is destroyed while the device works on it");
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t execute(ze_command_queue_handle_t handle, uint32_t count,
                    ze_command_list_handle_t* handles, ze_fence_handle_t fence_handle) {
  const auto queue = the_world().queues.find(handle);
  require_pointer(handles);
  require(count > 0, ZE_RESULT_ERROR_INVALID_SIZE);
  const auto signalled = fence_handle ? the_world().fences.find(fence_handle) : nullptr;
  queue->on->require_present();
  if (signalled && signalled->of != queue) refuse_violation("the fence is another queue's");
  std::vector<std::shared_ptr<command_list>> lists;
  for (uint32_t i = 0; i < count; ++i) {
    lists.push_back(the_world().lists.find(handles[i]));
    require(!lists.back()->immediate && lists.back()->group == queue->group,
            ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE);
    if (lists.back()->on != queue->on) refuse_violation("the command list is of another device");
  }
  for (const auto& list : lists) list->submit_to(queue->work);
  if (signalled) {
    signalled->in_flight.store(true);
    auto last = std::make_unique<submitted_command>(barrier_command());
    last->signal = signalled->state;
    queue->work.submit(std::move(last));
  }
  return queue->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS ? queue->work.wait(deadline(UINT64_MAX))
                                                          : ZE_RESULT_SUCCESS;
}

ze_result_t synchronize(ze_command_queue_handle_t handle, uint64_t timeout) {
  return the_world().queues.find(handle)->work.wait(deadline(timeout));
}

ze_result_t create_fence(ze_command_queue_handle_t handle, const ze_fence_desc_t* desc,
                         ze_fence_handle_t* made) {
  auto of = the_world().queues.find(handle);
  require_pointer(desc);
  require_pointer(made);
  auto created = std::make_shared<fence>();
  created->of = std::move(of);
  if (desc->flags & ZE_FENCE_FLAG_SIGNALED) created->state->signal();
  *made = the_world().fences.add(std::move(created));
  return ZE_RESULT_SUCCESS;
}

bool pending(const fence& one) {
  return one.in_flight.load() && !one.state->is_signalled();
}

ze_result_t destroy_fence(ze_fence_handle_t handle) {
  const auto taken = the_world().fences.take(handle);
  if (pending(*taken)) report_violation("the fence is destroyed before it was signalled");
  return ZE_RESULT_SUCCESS;
}

ze_result_t wait_fence(ze_fence_handle_t handle, uint64_t timeout) {
  const auto waited = the_world().fences.find(handle);
  for (const deadline until(timeout);; waited->state->wait_until(until.piece())) {
    waited->of->on->require_present();
    if (waited->state->is_signalled()) return ZE_RESULT_SUCCESS;
    if (until.passed()) return ZE_RESULT_NOT_READY;
  }
}

ze_result_t query_fence(ze_fence_handle_t handle) {
  return wait_fence(handle, 0);
}

ze_result_t reset_fence(ze_fence_handle_t handle) {
  const auto reset = the_world().fences.find(handle);
  if (pending(*reset)) report_violation("the fence is reset before it was signalled");
  reset->in_flight.store(false);
  reset->state->reset();
  return ZE_RESULT_SUCCESS;
}

}  // namespace queue_entries

void check_queue_group(uint32_t ordinal) {
  require(ordinal < (the_options().copy_group ? 2u : 1u), ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

void check_queue(const ze_command_queue_desc_t& desc) {
  check_queue_group(desc.ordinal);
  const uint32_t queues = desc.ordinal == 0 ? the_options().queues : 1;
  require(desc.index < queues, ZE_RESULT_ERROR_INVALID_ARGUMENT);
  require(desc.mode <= ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS, ZE_RESULT_ERROR_INVALID_ENUMERATION);
  require(desc.priority <= ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH,
          ZE_RESULT_ERROR_INVALID_ENUMERATION);
}

void serve_command_queue(ze_command_queue_dditable_t* table) {
  using namespace queue_entries;
  serve<"zeCommandQueueCreate", create>(table->pfnCreate);
  serve<"zeCommandQueueDestroy", destroy>(table->pfnDestroy);
  serve<"zeCommandQueueExecuteCommandLists", execute>(table->pfnExecuteCommandLists);
  serve<"zeCommandQueueSynchronize", synchronize, in_child::waits>(table->pfnSynchronize);
}

void serve_fence(ze_fence_dditable_t* table) {
  using namespace queue_entries;
  serve<"zeFenceCreate", create_fence>(table->pfnCreate);
  serve<"zeFenceDestroy", destroy_fence>(table->pfnDestroy);
  serve<"zeFenceHostSynchronize", wait_fence, in_child::waits>(table->pfnHostSynchronize);
  serve<"zeFenceQueryStatus", query_fence>(table->pfnQueryStatus);
  serve<"zeFenceReset", reset_fence>(table->pfnReset);
}

}  // namespace outback::software_ze
