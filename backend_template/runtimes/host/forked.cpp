#include "backend_template/runtimes/host/forked.hpp"

#include "backend_template/runtimes/fork_count.hpp"
#include "outback/runtime_error.hpp"

namespace outback::host {

void check_not_forked(uint32_t then) {
  if (fork_count() == then) return;
  // The text names both ways out for a user who did not choose the fork: a data loader's worker may
  // be the child.
  throw runtime_error(
      OUTBACK_INTERNAL,
      "this process was forked after the device had started work in the background; use the "
      "device first in the child, or start the child without fork (\"spawn\")");
}

}  // namespace outback::host
