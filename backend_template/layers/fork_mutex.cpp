#include "backend_template/layers/fork_mutex.hpp"

#include <pthread.h>

#include <vector>

namespace outback::layers {
namespace {

struct all {
  std::mutex mutex;
  std::vector<fork_mutex*> made;
};

all& every_mutex() {
  static auto& it = *new all;  // leaked: a fork may come after the destructors of static objects
  return it;
}

void before_fork() {
  every_mutex().mutex.lock();
  for (fork_mutex* m : every_mutex().made) m->lock();
}

void after_fork() {
  for (fork_mutex* m : every_mutex().made) m->unlock();
  every_mutex().mutex.unlock();
}

}  // namespace

fork_mutex::fork_mutex() {
  // No handler (out of memory) means that a child may wait for ever: not worth an abort.
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
