#include "backend_template/layers/own_error.hpp"

#include <cstddef>
#include <cstring>
#include <exception>
#include <new>

#include "outback/runtime_error.hpp"

namespace outback::layers::own_error {
namespace {

// The calling thread's last text of any layer, and which layer it belongs to. It is a plain array
// for the same reasons as outback::detail::error_text. One is enough for all layers: the layers
// above the one that failed see that the text is not theirs, and ask the table below.
struct kept {
  const void* layer;
  char text[1024];
};
thread_local constinit kept last = {};

outback_status keep(const void* layer, outback_status status, const char* text) noexcept {
  std::size_t size = std::strlen(text);
  if (size >= sizeof(last.text)) size = sizeof(last.text) - 1;
  std::memmove(last.text, text, size);
  last.text[size] = '\0';
  last.layer = layer;
  return status;
}

}  // namespace

outback_status keep_exception(const void* layer) noexcept {
  try {
    throw;
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

void forget(const void* layer) noexcept {
  if (last.layer == layer) last.layer = nullptr;
}

const char* text_of(const void* layer) noexcept {
  return last.layer == layer ? last.text : nullptr;
}

}  // namespace outback::layers::own_error
