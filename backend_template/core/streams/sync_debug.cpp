#include "backend_template/core/streams/sync_debug.h"

#include <c10/util/Exception.h>

#include "backend_template/core/runtime/runtime.h"

namespace outback::core {

void detail::report_synchronizing(sync_debug_mode mode) {
  TORCH_CHECK(mode != sync_debug_mode::error, "called a synchronizing ", backend_name(),
              " operation");
  TORCH_WARN("called a synchronizing ", backend_name(), " operation");
}

}  // namespace outback::core
