#include "backend_template/runtimes/host/late_failure.hpp"

#include <string>

#include "outback/runtime_error.hpp"

namespace outback::host {
namespace {

const char* words_of(outback_record_kind kind) noexcept {
  switch (kind) {
    case OUTBACK_RECORD_COPY_TO_DEVICE:
      return "a copy to the device";
    case OUTBACK_RECORD_COPY_TO_HOST:
      return "a copy to the host";
    case OUTBACK_RECORD_COPY_WITHIN:
      return "a copy on the device";
    case OUTBACK_RECORD_COPY_BETWEEN:
      return "a copy between devices";
    case OUTBACK_RECORD_FILL:
      return "a fill";
    case OUTBACK_RECORD_CALLBACK:
      return "a callback";
    case OUTBACK_RECORD_GRAPH:
      return "a launch of a graph";
    default:
      return "a kernel";
  }
}

}  // namespace

void late_failure::tell() {
  const outback_record_kind kind = kind_.exchange(0, std::memory_order_acq_rel);
  if (kind == 0) return;
  throw runtime_error(OUTBACK_INTERNAL,
                      "piece of work number " + std::to_string(number_) + ", " + words_of(kind) +
                          ", failed after it was enqueued, as OUTBACK_HOST_FAIL_WORK asks");
}

}  // namespace outback::host
