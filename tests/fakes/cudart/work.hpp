// Work, and who runs it. Streams, events and graphs come down to one thing: which work runs after
// which. So whatever order these allow may be seen, and in adversarial mode is.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "tests/fakes/cudart/block.hpp"
#include "tests/fakes/cudart/note.hpp"

namespace fake_cuda {

enum class work_kind { copy, fill, host_function, kernel, marker, wait };

/// What is to be done, once or in every launch of a graph.
struct task {
  work_kind kind = work_kind::marker;
  std::function<void()> body;             // runs without the lock; null: nothing
  std::vector<block_ptr> uses;            // these may not go before it is done
  note_ptr told = nullptr;                // for the record; null: it is not in it
  std::shared_ptr<void> keeps = nullptr;  // goes once it is done
  /// It may wait for what a user does, so it counts for no processor.
  bool may_block() const { return kind == work_kind::host_function || kind == work_kind::wait; }
};

/// A task in its place. Guarded by the machine's lock.
struct work {
  task what;
  int device = 0;
  int priority = 0;     // lower is more urgent
  uint64_t number = 0;  // in the order of enqueueing
  bool done = false;
  std::chrono::steady_clock::time_point time;  // when it was done
  std::size_t waits_for = 0;
  std::vector<std::shared_ptr<work>> followers;
};
using work_ptr = std::shared_ptr<work>;

/// Threads that run work as it becomes ready. They come when there is work for them and go when
/// there is none, and are detached: a process may end at any time. Never destroyed.
class executor {
 public:
  struct options {
    std::optional<uint64_t> adversary;   // a seed: random choice, random delays
    bool serial_host_functions = false;  // one at a time in the process, as CUDA may do it
  };
  /// What the machine has to say about work; both are called with the lock.
  struct hooks {
    std::function<bool(const work&)> may_run;  // false: it counts as done, and has no effect
    std::function<void(const work&)> on_done;
  };

  executor(std::mutex& mutex, const options& given, hooks told)
      : mutex_(mutex),
        options_(given),
        hooks_(std::move(told)),
        random_(given.adversary.value_or(0)) {}

  // All of these with the lock held.

  /// `what` runs when all of `after` is done; null ones count as done.
  work_ptr submit(task what, int device, int priority, std::span<const work_ptr> after);
  /// Waits with the lock released, until `until` holds. It is asked after any work is done.
  void wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& until);
  /// The number of what is submitted next.
  uint64_t next_number() const { return next_number_; }
  bool adversarial() const { return options_.adversary.has_value(); }

 private:
  void make_ready(work_ptr given);
  void need_threads();
  work_ptr next();
  void run_until_idle();
  void complete(work& given);

  std::mutex& mutex_;
  const options options_;
  const hooks hooks_;
  std::condition_variable has_work_, progress_;
  std::vector<work_ptr> ready_;
  std::mt19937_64 random_;
  uint64_t next_number_ = 1;
  int threads_ = 0, idle_ = 0, blocked_ = 0, host_functions_ = 0;
};

}  // namespace fake_cuda
