// Work of the host in the order of a queue. Before API 1.17 that is a thread, which waits for one
// event of the queue, works, and signals another that the queue waits for.
//
// The device waits meanwhile. Where a driver runs several lists on one engine, they may all stand
// still until the work returned.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <utility>

#include "backend_template/runtimes/level_zero/event_slots.hpp"

namespace outback::level_zero {

/// The thread of one queue. It starts with the first work, ends when there was none for a while,
/// and is detached: a process may exit with work queued, which then does not run. May be used from
/// any thread.
class host_worker {
  struct job {
    slot_ref reached;  // the queue got here
    slot_ref gate;     // the queue goes on
    std::function<void()> work;
  };
  struct state;

 public:
  /// A job that only lacks its slots, with a thread that awaits it: what may fail is behind it.
  /// Forgotten, nothing runs.
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

  /// Throws outback::runtime_error where no thread can start.
  prepared prepare(std::function<void()> work);

  /// Jobs run in the order of these calls. One whose slot `reached` cannot be waited for does not
  /// run; `gate` is signalled in any case.
  void push(prepared one, slot_ref reached, slot_ref gate) noexcept;

  /// Throws, once, what kept a job from running.
  void rethrow();

 private:
  static void run_jobs(const std::shared_ptr<state>& shared) noexcept;
  static bool await(const slot_ref& reached);
  static void run_job(state& shared, const job& one) noexcept;

  const std::shared_ptr<state> state_;
};

}  // namespace outback::level_zero
