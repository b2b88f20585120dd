// The exceptions that a runtime written in C++ throws, and their conversion to a status and a text
// for `last_error`. Read it when you write a runtime (outback/runtime.hpp). No torch.
#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include "outback/runtime.h"

namespace outback {

/// The failure of a slot: the status that the caller gets, and the text that `last_error` then
/// returns.
///
/// Write the text for a user of the device: say what was expected and what was found, and quote the
/// driver's own words if there are any. Leave out the backend's name, the slot's name and the
/// sizes: the caller adds them.
class runtime_error : public std::runtime_error {
 public:
  /// `status` must be a failure. OUTBACK_OK and OUTBACK_NOT_READY are not failures and become
  /// OUTBACK_INTERNAL. `text` is copied.
  runtime_error(outback_status status, const std::string& text)
      : std::runtime_error(text),
        status_(status == OUTBACK_OK || status == OUTBACK_NOT_READY ? OUTBACK_INTERNAL : status) {}

  /// The status of the failure: never OUTBACK_OK or OUTBACK_NOT_READY.
  outback_status status() const noexcept { return status_; }

 private:
  outback_status status_;
};

/// The caller passed an argument that the contract forbids: OUTBACK_INVALID_ARGUMENT. A registered
/// backend turns it into c10::Error, a RuntimeError in Python.
class invalid_argument : public runtime_error {
 public:
  explicit invalid_argument(const std::string& text)
      : runtime_error(OUTBACK_INVALID_ARGUMENT, text) {}
};

/// There is not enough free memory now: OUTBACK_OUT_OF_MEMORY. PyTorch's allocator then empties its
/// cache and tries once more, so throw something else if freeing memory cannot help, as with a bad
/// alignment. If the second attempt fails too, the user sees c10::OutOfMemoryError,
/// torch.OutOfMemoryError in Python.
class out_of_memory : public runtime_error {
 public:
  explicit out_of_memory(const std::string& text) : runtime_error(OUTBACK_OUT_OF_MEMORY, text) {}
};

/// The device is gone for good: OUTBACK_DEVICE_LOST. Every later call on the device must throw this
/// too. A registered backend turns it into c10::AcceleratorError, torch.AcceleratorError in Python.
class device_lost : public runtime_error {
 public:
  explicit device_lost(const std::string& text) : runtime_error(OUTBACK_DEVICE_LOST, text) {}
};

/// This device or driver does not have the feature, and will not have it as long as the process
/// runs: OUTBACK_UNSUPPORTED. A registered backend turns it into c10::NotImplementedError,
/// NotImplementedError in Python.
class unsupported : public runtime_error {
 public:
  explicit unsupported(const std::string& text) : runtime_error(OUTBACK_UNSUPPORTED, text) {}
};

/// Throws `invalid_argument`, with a text that names the valid indices, unless `device` is an index
/// from 0 to `count` - 1.
inline void check_device(int32_t device, int32_t count) {
  if (device >= 0 && device < count) return;
  const std::string there = count <= 0   ? "there are no devices"
                            : count == 1 ? "the only one is 0"
                                         : "they are 0 to " + std::to_string(count - 1);
  throw invalid_argument("there is no device " + std::to_string(device) + ": " + there);
}

namespace detail {

/// The calling thread's last text, for `last_error`. It is a plain array for two reasons: storing a
/// text must not allocate, since the text may report a lack of memory; and no destructor may run
/// when a thread ends, since another destructor of that thread may still call a slot.
inline constexpr std::size_t error_text_size = 8192;  // room for a compiler's first errors
inline thread_local constinit char error_text[error_text_size] = {};

/// Stores `text` as the calling thread's last text, cut to 8191 bytes, and returns `status`. `text`
/// may point into `error_text` itself.
inline outback_status fail(outback_status status, const char* text) noexcept {
  const std::size_t size =
      std::strlen(text) < error_text_size ? std::strlen(text) : error_text_size - 1;
  std::memmove(error_text, text, size);
  error_text[size] = '\0';
  return status;
}

/// Stores the text of the exception that is being handled and returns its status. May only be
/// called inside a catch clause.
inline outback_status status_of_exception() noexcept {
  // The order matters: a runtime_error is a std::exception too, and the text of std::bad_alloc
  // would say nothing to a user.
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

}  // namespace detail
}  // namespace outback
