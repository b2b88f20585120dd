#include "backend_template/core/runtime/format.h"

namespace outback::core {

std::string formatted(fmt::string_view text, fmt::format_args arguments) {
  return fmt::vformat(text, arguments);
}

}  // namespace outback::core
