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

std::string failing_work::text(const work_note& failed) const {
  return "piece of work number " + std::to_string(number_) + ", " + words_of(failed.kind) +
         ", failed after it was enqueued, as OUTBACK_HOST_FAIL_WORK asks";
}

void late_failure::keep(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (is_kept_.load(std::memory_order_relaxed)) return;
  text_ = text;
  is_kept_.store(true, std::memory_order_release);
}

void late_failure::tell() {
  if (!is_kept()) return;
  const std::lock_guard lock(mutex_);
  if (!is_kept_.exchange(false, std::memory_order_acq_rel)) return;
  throw runtime_error(OUTBACK_INTERNAL, text_);
}

}  // namespace outback::host
