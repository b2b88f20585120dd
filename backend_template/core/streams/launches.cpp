#include "backend_template/core/streams/launches.h"

#include <ATen/record_function.h>
#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

#include <memory>
#include <utility>

#include "backend_template/core/captures/capture.h"
#include "backend_template/core/devices/host_failure.h"
#include "backend_template/core/runtime/environment.h"
#include "backend_template/core/runtime/runtime.h"

namespace outback::core {
namespace {

// The innermost operator that the thread is in, or null. Borrowed from torch while it runs.
thread_local const char* operator_here = nullptr;

// What torch keeps of an operator that has begun: the one around it.
struct around final : at::ObserverContext {
  explicit around(const char* outer) : outer(outer) {}
  const char* const outer;
};

std::unique_ptr<at::ObserverContext> operator_begins(const at::RecordFunction& function) {
  return std::make_unique<around>(std::exchange(operator_here, function.name()));
}

void operator_ends(const at::RecordFunction& /*function*/, at::ObserverContext* begun) {
  if (begun != nullptr) operator_here = static_cast<around*>(begun)->outer;
}

}  // namespace

void detail::wait_for_launch(const c10::Stream& stream) {
  if (capture_of(stream) != nullptr) return;
  check_host_failure(stream.device_index());  // it was kept before, so it is not this operator's
  try {
    synchronize_stream(stream);
  } catch (c10::AcceleratorError& error) {
    if (operator_here != nullptr && error.context().empty()) {
      error.add_context(c10::str("in ", operator_here, " on ", stream.device()));
    }
    throw;
  }
}

void read_launch_blocking() {
  const bool wanted = from_environment(
      [] { return outback::detail::flag_variable("OUTBACK_LAUNCH_BLOCKING").value_or(false); });
  if (!wanted || detail::launches_block.exchange(true)) return;
  at::addGlobalCallback(at::RecordFunctionCallback(&operator_begins, &operator_ends)
                            .scopes({at::RecordScope::FUNCTION}));
}

void mark_launched_quietly(const c10::Stream& stream) noexcept {
  try {
    mark_busy(stream);
    // A wait would take a failure that is kept already, and leave the stream idle, for which no
    // operator waits: nobody would be told.
    if (is_launch_blocking() && !keeps_host_failure(stream.device_index())) {
      detail::wait_for_launch(stream);
    }
  } catch (...) {
    report_handled(stream.device_index(), "work has failed");
  }
}

}  // namespace outback::core
