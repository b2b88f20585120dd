// Whose text `last_error` answers: a layer's own, or that of the table below it.
#pragma once

#include <exception>

#include "outback/runtime_error.hpp"

namespace outback::layers::own_error {

/// Keeps `text` for this thread as the last error of `layer`, and of the layers above it. Hands
/// `status` through.
outback_status keep(const void* layer, outback_status status, const char* text) noexcept;

/// The last failure of `layer` on this thread was not its own.
void forget(const void* layer) noexcept;

/// Null unless the last failure of `layer` on this thread was its own. Valid until this thread's
/// next failure.
const char* text_of(const void* layer) noexcept;

/// Runs `body`, which answers a status: its own by an exception, that of the table below by a
/// return.
template <class Body>
outback_status guarded(const void* layer, Body&& body) noexcept {
  try {
    const outback_status status = body();
    if (status != OUTBACK_OK && status != OUTBACK_NOT_READY) forget(layer);
    return status;
  } catch (const runtime_error& error) {
    return keep(layer, error.status(), error.what());
  } catch (const std::bad_alloc&) {
    return keep(layer, OUTBACK_OUT_OF_MEMORY, "the host has no memory left");
  } catch (const std::exception& error) {
    return keep(layer, OUTBACK_INTERNAL, error.what());
  } catch (...) {
    return keep(layer, OUTBACK_INTERNAL, "a layer threw something that is not a std::exception");
  }
}

}  // namespace outback::layers::own_error
