#include "backend_template/runtimes/host/graph.hpp"

#include <utility>

#include "outback/runtime_error.hpp"

namespace outback::host {

graph::graph(int32_t device, recording work, uint64_t seed)
    : device_(device), work_(std::make_shared<const recording>(std::move(work))), seed_(seed) {}

void graph::instantiate() {
  const std::lock_guard lock(mutex_);
  if (ready_) throw invalid_argument("the graph was instantiated already");
  ready_ = true;
}

void graph::launch(stream& where) {
  const std::lock_guard lock(mutex_);
  if (!ready_) throw invalid_argument("the graph was not instantiated");
  // Launches of one graph run one after another, also on different streams: this one waits for the
  // mark at the end of the last one.
  const auto before = last_ != nullptr && !last_->completed() ? last_ : nullptr;
  if (before != nullptr) before->check_reachable();
  const auto end = std::make_shared<mark>();
  // It owns all that it uses: the graph may be destroyed while it is queued.
  record_place inside = where.record_here();
  inside.flags = OUTBACK_RECORD_IN_GRAPH;
  const auto run = [work = work_, order = randomness(seed_, launches_), shuffled = seed_ != 0,
                    before, end, inside]() mutable {
    if (before != nullptr) before->wait();
    shuffled ? work->run_in_some_order(order, inside) : work->run(inside);
    end->complete();
  };
  where.enqueue_uncaptured(run, "a launch of a graph", nullptr, runner::its_thread,
                           {.kind = OUTBACK_RECORD_GRAPH});
  // Only now: if enqueueing threw, nobody will complete `end`.
  last_ = end;
  ++launches_;
}

}  // namespace outback::host
