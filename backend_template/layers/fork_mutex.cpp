#include "backend_template/layers/fork_mutex.hpp"

#include <pthread.h>

#include <vector>

namespace outback::layers {
namespace {

// Every fork_mutex of the process. Its own mutex is locked first, so that none is added during a
// fork.
struct all {
  std::mutex mutex;
  std::vector<fork_mutex*> made;
};

all& every_mutex() {
  static auto& mutexes = *new all;  // leaked: a fork may come after static destructors
  return mutexes;
}

// In the parent, before the fork. A fork waits until no thread holds any of them.
void before_fork() {
  every_mutex().mutex.lock();
  for (fork_mutex* m : every_mutex().made) m->lock();
}

// In the parent and in the child: both have the locks that before_fork took.
void after_fork() {
  for (fork_mutex* m : every_mutex().made) m->unlock();
  every_mutex().mutex.unlock();
}

}  // namespace

fork_mutex::fork_mutex() {
  // If pthread_atfork fails (out of memory), a forked child may wait for ever. That is not worth an
  // abort.
  [[maybe_unused]] static const int registered =
      pthread_atfork(&before_fork, &after_fork, &after_fork);
  const std::lock_guard lock(every_mutex().mutex);
  every_mutex().made.push_back(this);
}

fork_mutex::~fork_mutex() {
  const std::lock_guard lock(every_mutex().mutex);
  std::erase(every_mutex().made, this);
}

}  // namespace outback::layers
