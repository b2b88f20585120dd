// The range slots of the host runtime. It has no tools: the calls are there for layers, a trace
// say.
#include "backend_template/runtimes/host/host_runtime.hpp"

namespace outback::host {

void host_runtime::range_push(const char* /*name*/) {}

void host_runtime::range_pop() {}

void host_runtime::range_mark(const char* /*name*/) {}

}  // namespace outback::host
