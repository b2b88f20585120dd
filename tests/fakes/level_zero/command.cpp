#include "tests/fakes/level_zero/command.hpp"

#include <algorithm>
#include <utility>

#include "tests/fakes/level_zero/violations.hpp"

namespace outback::software_ze {
namespace {

template <class Change>
void for_all_in_use(command& what, Change change) {
  for (const auto& one : what.memory) change(one->uses);
  for (const auto& one : what.waits) change(one->in_flight);
  if (what.signals) change(what.signals->in_flight);
  if (what.resets) change(what.resets->in_flight);
  if (what.runs) change(what.runs->in_flight);
}

void require_alive(const event& one) {
  if (one.destroyed.load()) refuse_violation("a command list names an event that was destroyed");
}

}  // namespace

command barrier_command(std::function<void()> work) {
  command made;
  made.keeps = command::order::barrier;
  made.work = std::move(work);
  return made;
}

submitted_command::submitted_command(command from) : what(std::move(from)) {
  for (const auto& one : what.memory) {
    if (one->freed.load()) refuse_violation("a command list names memory that was freed");
  }
  for (const auto& one : what.waits) require_alive(*one);
  if (what.signals) require_alive(*what.signals);
  if (what.resets) require_alive(*what.resets);
  // The waits first: a counter-based event may be waited for and signalled by the same command.
  for (const auto& one : what.waits) waits.push_back(one->current());
  if (what.signals) signal = what.signals->next();
  for_all_in_use(what, [](auto& count) { count.fetch_add(1); });
  in_use = true;
}

bool submitted_command::ready() const noexcept {
  return std::all_of(waits.begin(), waits.end(),
                     [](const auto& one) { return one->is_signalled(); });
}

void submitted_command::release() noexcept {
  if (!std::exchange(in_use, false)) return;
  for_all_in_use(what, [](auto& count) { count.fetch_sub(1); });
  what = command{};
}

}  // namespace outback::software_ze
