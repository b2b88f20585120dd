// A process that ends while callbacks are still to come.
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/runtime/opencl/own_process.hpp"

namespace outback::test_opencl {
namespace {

std::atomic<bool> runs{false};

void stay_for_ever(void*) {
  runs = true;
  for (;;) pause();
}

// One callback does not return, and the queue of another one waits for it.
void leave_callbacks_behind() {
  const outback_runtime& t = table();
  outback_stream first = nullptr, second = nullptr;
  outback_event reached = nullptr;
  must(t.streams->create(t.self, 0, 0, &first));
  must(t.streams->create(t.self, 0, 0, &second));
  must(t.events->create(t.self, 0, 0, &reached));
  must(t.callbacks->enqueue(t.self, 0, stay_for_ever, nullptr, first));
  must(t.events->record(t.self, 0, reached, first));
  must(t.events->wait(t.self, 0, reached, second));
  must(t.callbacks->enqueue(
      t.self, 0, [](void*) { ADD_FAILURE() << "nothing let it run"; }, nullptr, second));
  must(t.events->destroy(t.self, 0, reached));
  while (!runs) std::this_thread::yield();
}

TEST(ExitTest, WithCallbacksThatAreStillToCome) {
  OUTBACK_IN_ITS_OWN_PROCESS(({}), leave_callbacks_behind());
}

}  // namespace
}  // namespace outback::test_opencl
