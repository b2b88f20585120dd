#include "tests/fakes/level_zero/command_list.hpp"

#include <utility>

#include "tests/fakes/level_zero/turn.hpp"
#include "tests/fakes/level_zero/violations.hpp"

namespace outback::software_ze {
command_list::command_list(std::shared_ptr<context> of_, std::shared_ptr<device> on_,
                           uint32_t group_, bool in_order_, bool synchronous, bool immediate_)
    : of(std::move(of_)),
      on(std::move(on_)),
      group(group_),
      in_order(in_order_),
      immediate(immediate_),
      synchronous_(synchronous) {
  if (immediate) work_ = std::make_unique<work_queue>(on, in_order);
}

void command_list::append(command what) {
  const turn mine(appending_, noun);
  on->require_present();
  if (immediate) {
    work_->submit(std::make_unique<submitted_command>(std::move(what)));
    if (synchronous_) {
      if (const auto result = work_->wait(deadline(UINT64_MAX)); result != ZE_RESULT_SUCCESS) {
        throw refusal{result};
      }
    }
    return;
  }
  const std::lock_guard lock(mutex_);
  if (closed_) refuse_violation("the command list is closed");
  recorded_.push_back(std::move(what));
}

void command_list::close() {
  const turn mine(appending_, noun);
  const std::lock_guard lock(mutex_);
  if (immediate) refuse_violation("an immediate command list cannot be closed");
  closed_ = true;
}

void command_list::reset() {
  const turn mine(appending_, noun);
  if (immediate) refuse_violation("an immediate command list cannot be reset");
  if (busy()) report_violation("the command list is reset while the device executes it");
  const std::lock_guard lock(mutex_);
  recorded_.clear();
  closed_ = false;
}

ze_result_t command_list::wait(uint64_t timeout) {
  if (!immediate) refuse_violation("only an immediate command list can be waited for");
  return work_->wait(deadline(timeout));
}

void command_list::submit_to(work_queue& queue) {
  const std::lock_guard lock(mutex_);
  if (!closed_) refuse_violation("the command list is executed before it was closed");
  // All of them first: one that is refused leaves nothing submitted.
  std::vector<std::unique_ptr<submitted_command>> all;
  for (command copy : recorded_) {
    if (in_order && copy.keeps == command::order::free) copy.keeps = command::order::barrier;
    all.push_back(std::make_unique<submitted_command>(std::move(copy)));
  }
  all.push_back(std::make_unique<submitted_command>(
      barrier_command([executing = executing_] { executing->fetch_sub(1); })));
  executing_->fetch_add(1);
  for (auto& one : all) queue.submit(std::move(one));
}

bool command_list::busy() const {
  // A lost device dropped what it had.
  return immediate ? work_->in_use() > 0 : executing_->load() > 0 && !on->lost();
}

}  // namespace outback::software_ze
