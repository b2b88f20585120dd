// What a runtime written in C++ throws, and where its text waits for `last_error`. No torch.
#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include "outback/runtime.h"

namespace outback {

/// A failed slot: the status that the caller gets, and the text that `last_error` then explains it
/// with.
///
/// The text is for a user of the device: say what was asked for and what was there, with the
/// driver's own words if there are any. The caller adds the backend's name, the slot and its sizes.
class runtime_error : public std::runtime_error {
 public:
  /// `status` is a failure: OUTBACK_OK and OUTBACK_NOT_READY are answers, and become
  /// OUTBACK_INTERNAL.
  runtime_error(outback_status status, const std::string& text)
      : std::runtime_error(text),
        status_(status == OUTBACK_OK || status == OUTBACK_NOT_READY ? OUTBACK_INTERNAL : status) {}

  outback_status status() const noexcept { return status_; }

 private:
  outback_status status_;
};

/// The caller passed what no caller may.
class invalid_argument : public runtime_error {
 public:
  explicit invalid_argument(const std::string& text)
      : runtime_error(OUTBACK_INVALID_ARGUMENT, text) {}
};

/// The memory asked for is not there now. The caller may free some and try once more, so do not use
/// it for a size that can never be had for another reason, such as a bad alignment.
class out_of_memory : public runtime_error {
 public:
  explicit out_of_memory(const std::string& text) : runtime_error(OUTBACK_OUT_OF_MEMORY, text) {}
};

/// The device is gone. Sticky: every later call on it must throw this too.
class device_lost : public runtime_error {
 public:
  explicit device_lost(const std::string& text) : runtime_error(OUTBACK_DEVICE_LOST, text) {}
};

/// This device or driver has not got it, and never will in this process.
class unsupported : public runtime_error {
 public:
  explicit unsupported(const std::string& text) : runtime_error(OUTBACK_UNSUPPORTED, text) {}
};

/// Throws `invalid_argument` unless `device` is an index from 0 to `count` - 1.
inline void check_device(int32_t device, int32_t count) {
  if (device >= 0 && device < count) return;
  const std::string there = count <= 0   ? "there are no devices"
                            : count == 1 ? "the only one is 0"
                                         : "they are 0 to " + std::to_string(count - 1);
  throw invalid_argument("there is no device " + std::to_string(device) + ": " + there);
}

namespace detail {

/// A plain array, so that keeping a text neither allocates (it may be about the lack of memory) nor
/// runs a destructor when a thread ends (another destructor may still call a slot).
inline constexpr std::size_t error_text_size = 1024;
inline thread_local constinit char error_text[error_text_size] = {};

/// Keeps `text` for this thread, cut to fit, and hands `status` through.
inline outback_status fail(outback_status status, const char* text) noexcept {
  const std::size_t size =
      std::strlen(text) < error_text_size ? std::strlen(text) : error_text_size - 1;
  std::memmove(error_text, text, size);
  error_text[size] = '\0';
  return status;
}

/// The status for the exception in flight, whose text it keeps. Only inside a catch clause.
inline outback_status status_of_exception() noexcept {
  try {
    throw;
  } catch (const runtime_error& error) {
    return fail(error.status(), error.what());
  } catch (const std::bad_alloc&) {
    return fail(OUTBACK_OUT_OF_MEMORY, "the host has no memory left");
  } catch (const std::exception& error) {
    return fail(OUTBACK_INTERNAL, error.what());
  } catch (...) {
    return fail(OUTBACK_INTERNAL, "the runtime threw something that is not a std::exception");
  }
}

/// Runs `body`, which answers a status. Nothing may escape into C.
template <class Body>
outback_status guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    return status_of_exception();
  }
}

}  // namespace detail
}  // namespace outback
