// The activity slots of the OpenCL runtime: the times of the driver's events.
#include "backend_template/runtimes/opencl/opencl_runtime.hpp"

namespace outback::opencl {

void opencl_runtime::activity_start(int32_t index) {
  device& d = at(index);
  d.now();  // throws if the records would have times that nobody understands
  d.log().start();
}

void opencl_runtime::activity_stop(int32_t index) {
  at(index).log().stop();
}

void opencl_runtime::activity_flush(int32_t index) {
  at(index).record();
}

outback_records opencl_runtime::activity_read(int32_t index) {
  return at(index).log().read();
}

int64_t opencl_runtime::activity_clock(int32_t index) {
  return at(index).now();
}

uint64_t opencl_runtime::activity_stream(int32_t index, outback_stream handle) {
  return queue_of(at(index), handle).number();
}

void opencl_runtime::activity_push(uint64_t correlation) {
  push_correlation(correlation);
}

uint64_t opencl_runtime::activity_pop() {
  return pop_correlation();
}

}  // namespace outback::opencl
