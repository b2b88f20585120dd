#include "backend_template/runtimes/host/forked.hpp"

#include "backend_template/runtimes/fork_count.hpp"
#include "outback/runtime_error.hpp"

namespace outback::host {

void check_not_forked(uint32_t then) {
  if (fork_count() == then) return;
  throw runtime_error(
      OUTBACK_INTERNAL,
      "this process was forked after the device had started work in the background; use the "
      "device first in the child, or start the child without fork (\"spawn\")");
}

}  // namespace outback::host
