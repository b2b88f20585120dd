// zeEvent*.
#include <memory>

#include "tests/fakes/level_zero/deadline.hpp"
#include "tests/fakes/level_zero/entry_points.hpp"
#include "tests/fakes/level_zero/serve.hpp"
#include "tests/fakes/level_zero/violations.hpp"
#include "tests/fakes/level_zero/world.hpp"

namespace outback::software_ze {
namespace event_entries {

ze_result_t create(ze_event_pool_handle_t handle, const ze_event_desc_t* desc,
                   ze_event_handle_t* made) {
  const auto pool = the_world().pools.find(handle);
  require_pointer(desc);
  require_pointer(made);
  require(desc->index < pool->count, ZE_RESULT_ERROR_INVALID_ARGUMENT);
  if (!pool->take_place(desc->index)) refuse_violation("another event has this index of the pool");
  *made = the_world().events.add(std::make_shared<event>(pool, desc->index));
  return ZE_RESULT_SUCCESS;
}

ze_result_t destroy(ze_event_handle_t handle) {
  const auto taken = the_world().events.take(handle);
  taken->destroyed.store(true);
  if (taken->in_flight.load() > 0) {
    report_violation("the event is destroyed while commands wait for it or signal it");
  }
  // Not when the last list that recorded it goes: the place is free for another event now.
  taken->leave_pool();
  return ZE_RESULT_SUCCESS;
}

std::shared_ptr<event> find_resettable(ze_event_handle_t handle, const char* what) {
  auto found = the_world().events.find(handle);
  if (found->pool->counter_based) refuse_violation(what);
  return found;
}

ze_result_t host_signal(ze_event_handle_t handle) {
  const auto signalled = find_resettable(handle, "a counter-based event is signalled by the host");
  signalled->current()->signal();
  return ZE_RESULT_SUCCESS;
}

ze_result_t host_reset(ze_event_handle_t handle) {
  const auto reset = find_resettable(handle, "a counter-based event is reset");
  if (reset->in_flight.load() > 0) {
    report_violation("the event is reset while commands wait for it or signal it");
  }
  reset->current()->reset();
  return ZE_RESULT_SUCCESS;
}

ze_result_t host_synchronize(ze_event_handle_t handle, uint64_t timeout) {
  const auto waited = the_world().events.find(handle);
  const signal_pointer state = waited->current();
  for (const deadline until(timeout);; state->wait_until(until.piece())) {
    if (state->is_signalled()) return ZE_RESULT_SUCCESS;
    if (device* by = waited->signaller.load()) by->require_present();
    if (until.passed()) return ZE_RESULT_NOT_READY;
  }
}

ze_result_t query_status(ze_event_handle_t handle) {
  return host_synchronize(handle, 0);
}

ze_result_t query_timestamp(ze_event_handle_t handle, ze_kernel_timestamp_result_t* result) {
  const auto queried = the_world().events.find(handle);
  require_pointer(result);
  if (!(queried->pool->flags & ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP)) {
    refuse_violation("the event's pool was made without kernel timestamps");
  }
  const signal_pointer state = queried->current();
  if (!state->is_signalled()) return ZE_RESULT_NOT_READY;
  *result = kernel_timestamps(*state);
  return ZE_RESULT_SUCCESS;
}

}  // namespace event_entries

void serve_event(ze_event_dditable_t* table) {
  using namespace event_entries;
  serve<"zeEventCreate", create>(table->pfnCreate);
  serve<"zeEventDestroy", destroy>(table->pfnDestroy);
  serve<"zeEventHostSignal", host_signal>(table->pfnHostSignal);
  serve<"zeEventHostSynchronize", host_synchronize, in_child::waits>(table->pfnHostSynchronize);
  serve<"zeEventQueryStatus", query_status>(table->pfnQueryStatus);
  serve<"zeEventHostReset", host_reset>(table->pfnHostReset);
  serve<"zeEventQueryKernelTimestamp", query_timestamp>(table->pfnQueryKernelTimestamp);
}

}  // namespace outback::software_ze
