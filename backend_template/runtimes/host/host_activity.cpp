// The activity slots of the host runtime: what the threads of its streams, and those that work for
// them, have noted.
#include "backend_template/runtimes/host/host_runtime.hpp"

namespace outback::host {

void host_runtime::activity_start(int32_t index) {
  at(index).log().start();
}

void host_runtime::activity_stop(int32_t index) {
  at(index).log().stop();
}

// The record of a piece of work is there before anybody can learn that it is done.
void host_runtime::activity_flush(int32_t index) {
  at(index);
}

outback_records host_runtime::activity_read(int32_t index) {
  return at(index).log().read();
}

int64_t host_runtime::activity_clock(int32_t index) {
  at(index);
  return activity_now();
}

uint64_t host_runtime::activity_stream(int32_t index, outback_stream handle) {
  return stream_at(index, handle).number();
}

void host_runtime::activity_push(uint64_t correlation) {
  push_correlation(correlation);
}

uint64_t host_runtime::activity_pop() {
  return pop_correlation();
}

}  // namespace outback::host
