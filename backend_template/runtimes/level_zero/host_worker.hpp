// Runs host work in the order of a queue: callbacks, and events of several processes. Before API
// 1.17 Level Zero has no call for host work, so a thread waits for one event of the queue, does the
// work, and then signals another event that the queue waits for.
//
// The device waits meanwhile. If a driver runs several lists on one engine, all these lists may
// wait until the work has returned.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <utility>

#include "backend_template/runtimes/level_zero/event_pool.hpp"

namespace outback::level_zero {

/// The thread of one queue. The thread starts with the first work and ends after 200 ms without
/// work. It is detached: if the process exits, queued work does not run. The class may be used from
/// any thread.
class host_worker {
  struct job {
    event_ref reached;  // signalled when the queue gets to the work
    event_ref gate;     // signalled after the work: the queue goes on
    std::function<void()> work;
  };
  struct state;

 public:
  /// A job that lacks only its pooled events. All steps that may fail are done: memory is allocated
  /// and the thread runs. A job that is dropped does not run.
  class prepared {
   public:
    prepared(prepared&&) noexcept = default;
    ~prepared();

   private:
    friend class host_worker;
    prepared(std::shared_ptr<state> of, std::list<job> one)
        : state_(std::move(of)), one_(std::move(one)) {}
    std::shared_ptr<state> state_;
    std::list<job> one_;  // a node, so that queueing it allocates nothing
  };

  host_worker();

  /// Makes a job for `work`. Throws outback::runtime_error if no thread can start.
  prepared prepare(std::function<void()> work);

  /// Queues the job. Jobs run in the order of these calls. If waiting for `reached` fails, the job
  /// does not run. `gate` is signalled in any case, even if the job throws a std::exception, unless
  /// the process ends.
  void push(prepared one, event_ref reached, event_ref gate) noexcept;

  /// Throws the failure that kept a job from running or a gate from being signalled, or the
  /// exception of a job. Throws each failure once, and only the first of several failures.
  void rethrow();

  /// Blocks the caller until `signal` is complete. Returns false if the process ends before. For
  /// use by work that runs on the thread of a queue. Throws like `check`.
  static bool await(const event_ref& signal);

 private:
  static void run_jobs(const std::shared_ptr<state>& shared) noexcept;
  static void run_job(state& shared, const job& one) noexcept;

  const std::shared_ptr<state> state_;
};

}  // namespace outback::level_zero
