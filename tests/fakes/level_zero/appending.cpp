#include "tests/fakes/level_zero/appending.hpp"

#include <utility>

#include "tests/fakes/level_zero/violations.hpp"
#include "tests/fakes/level_zero/world.hpp"

namespace outback::software_ze {

appending::appending(ze_command_list_handle_t list, ze_event_handle_t signals, uint32_t wait_count,
                     ze_event_handle_t* waits)
    : list_(the_world().lists.find(list)) {
  require(wait_count == 0 || waits, ZE_RESULT_ERROR_INVALID_SIZE);
  list_->on->require_present();
  for (uint32_t i = 0; i < wait_count; ++i) what_.waits.push_back(find_event(waits[i], false));
  if (signals) what_.signals = find_event(signals, true);
}

std::shared_ptr<event> appending::find_event(ze_event_handle_t handle, bool signalled) const {
  auto found = the_world().events.find(handle);
  if (found->pool->of != list_->of) refuse_violation("the event is of another context");
  const uint32_t counters = found->pool->counter_based;
  if (signalled && counters) {
    const uint32_t needed =
        list_->immediate ? counter_based_immediate : counter_based_non_immediate;
    if (!list_->in_order || !(counters & needed)) {
      refuse_violation(
          "a counter-based event is signalled by a list that is not in order, or not of the pool's "
          "kind");
    }
  }
  return found;
}

std::byte* appending::use(const void* pointer, std::size_t size, const context* of) {
  const span found = the_world().memory.resolve(pointer, size, *list_->on, of ? *of : *list_->of);
  if (found.held) what_.memory.push_back(found.held);
  return found.bytes;
}

void appending::reset(ze_event_handle_t handle) {
  what_.resets = find_event(handle, false);
  if (what_.resets->pool->counter_based) refuse_violation("a counter-based event is reset");
}

ze_result_t appending::finish(std::function<void()> work) {
  what_.work = std::move(work);
  if (what_.signals) what_.signals->signaller.store(list_->on.get());
  list_->append(std::move(what_));
  return ZE_RESULT_SUCCESS;
}

}  // namespace outback::software_ze
