// Owns a reference to a driver's event (cl_event).
#pragma once

#include <utility>

#include "backend_template/runtimes/opencl/result.hpp"

namespace outback::opencl {

/// A copy owns a reference of its own. Functions other than operator bool must not be called on an
/// empty reference. One object is not for two threads at once.
class event_ref {
 public:
  event_ref() = default;
  /// Takes over the caller's reference to `event`.
  event_ref(const driver_api& api, cl_event event) noexcept : api_(&api), event_(event) {}
  event_ref(const event_ref& other) : api_(other.api_), event_(other.event_) {
    if (event_ != nullptr) call(api_->clRetainEvent, event_);
  }
  event_ref(event_ref&& other) noexcept
      : api_(other.api_), event_(std::exchange(other.event_, nullptr)) {}
  event_ref& operator=(event_ref other) noexcept {
    std::swap(api_, other.api_);
    std::swap(event_, other.event_);
    return *this;
  }
  ~event_ref() {
    // There is nobody to report a failure to.
    if (event_ != nullptr) api_->clReleaseEvent(event_);
  }

  explicit operator bool() const noexcept { return event_ != nullptr; }
  cl_event get() const noexcept { return event_; }

  /// Returns CL_COMPLETE, a larger number while the work is not done, or a negative number if the
  /// work failed or the driver does not tell.
  cl_int status() const noexcept {
    cl_int status = CL_QUEUED;
    const cl_int result = api_->clGetEventInfo(event_, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                               sizeof(status), &status, nullptr);
    return result == CL_SUCCESS ? status : result;
  }
  /// Returns whether the work is done or has failed.
  bool over() const noexcept { return status() <= CL_COMPLETE; }
  /// Waits until `over`. Throws like `check`, but not if the work has failed.
  void wait() const {
    const cl_int result = api_->clWaitForEvents(1, &event_);
    if (result != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) {
      check(result, api_->clWaitForEvents.name);
    }
  }
  /// Writes a time of work that is done, in nanoseconds of the device's clock. `which` is
  /// CL_PROFILING_COMMAND_START or CL_PROFILING_COMMAND_END. Returns false if the driver does not
  /// tell, as for a queue that other code made without profiling.
  bool time(cl_profiling_info which, cl_ulong& ns) const noexcept {
    return api_->clGetEventProfilingInfo(event_, which, sizeof(ns), &ns, nullptr) == CL_SUCCESS;
  }

 private:
  const driver_api* api_ = nullptr;
  cl_event event_ = nullptr;
};

}  // namespace outback::opencl
