// A process that ends while callbacks are still to come. The driver is taken down then, and says so
// where a thread of the runtime's is still in it.
#include <unistd.h>

#include <thread>

#include "tests/runtime/level_zero/own_process.hpp"

namespace outback::test_level_zero {
namespace {

void stay_for_ever(void*) {
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
  while (calls("zeEventHostSynchronize") < 2) std::this_thread::yield();
}

TEST(ExitTest, WithCallbacksThatAreStillToCome) {
  for (const char* api : {"1.10", "1.6"}) {
    OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_API", api}}), leave_callbacks_behind());
  }
}

}  // namespace
}  // namespace outback::test_level_zero
