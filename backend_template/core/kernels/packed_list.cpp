#include "backend_template/core/kernels/packed_list.h"

namespace outback::core {
namespace {

std::span<const packed_module> list;

}  // namespace

void set_packed_modules(std::span<const packed_module> modules) noexcept {
  list = modules;
}

std::span<const packed_module> packed_modules() noexcept {
  return list;
}

}  // namespace outback::core
