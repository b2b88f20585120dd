#include "backend_template/layers/own_error.hpp"

#include <cstring>

namespace outback::layers::own_error {
namespace {

// A plain array for the reasons that outback::detail::error_text is one. One for all layers: on the
// way up from the layer that failed, the others see that it is not theirs.
struct kept {
  const void* layer;
  char text[1024];
};
thread_local constinit kept last = {};

}  // namespace

outback_status keep(const void* layer, outback_status status, const char* text) noexcept {
  std::size_t size = std::strlen(text);
  if (size >= sizeof(last.text)) size = sizeof(last.text) - 1;
  std::memmove(last.text, text, size);
  last.text[size] = '\0';
  last.layer = layer;
  return status;
}

void forget(const void* layer) noexcept {
  if (last.layer == layer) last.layer = nullptr;
}

const char* text_of(const void* layer) noexcept {
  return last.layer == layer ? last.text : nullptr;
}

}  // namespace outback::layers::own_error
