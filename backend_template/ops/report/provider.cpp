#include "backend_template/ops/report/provider.h"

#include <string>
#include <string_view>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/twin/twin.h"
#include "backend_template/ops/in_place/twin_target.h"
#include "backend_template/ops/registrar.h"

namespace outback::ops {
namespace {

// "registered at file.cpp:12 [kernel]" of "\nPrivateUse1: registered at file.cpp:12 [kernel]\n".
std::string line_of_device(const c10::OperatorHandle& op) {
  constexpr std::string_view key = "\nPrivateUse1: ";
  const std::string table = "\n" + op.dumpComputedTable();
  const size_t at = table.find(key);
  if (at == std::string::npos) return "";
  const size_t begin = at + key.size();
  return table.substr(begin, table.find('\n', begin) - begin);
}

provider lender() {
  if (core::device_count() == 0) return provider::in_place;
  return target_of(0).reaches(0) ? provider::in_place : provider::over_copies;
}

}  // namespace

const char* name_of(provider who) noexcept {
  switch (who) {
    case provider::vendor:
      return "vendor";
    case provider::own:
      return "own";
    case provider::in_place:
      return "in place";
    case provider::over_copies:
      return "over copies";
    case provider::composed:
      return "composed";
    case provider::elsewhere:
      return "elsewhere";
    case provider::refused:
      break;
  }
  return "refused";
}

provider provider_of(const c10::OperatorHandle& op) {
  const std::string line = line_of_device(op);
  const auto ends_with = [&line](std::string_view end) {
    return std::string_view(line).ends_with(end);
  };
  const bool is_ours = line.starts_with(registrar::registered_by);
  if (is_ours && ends_with("[backend fallback]")) {
    // It serves what the target has a kernel for, and refuses the rest.
    return target_of(0).has_kernel_of(op) || cpu_target.has_kernel_of(op) ? lender()
                                                                          : provider::refused;
  }
  if (is_ours) {
    return line.starts_with(registrar::registered_as_own) ? provider::own : lender();
  }
  if (ends_with("[kernel]") || ends_with("[backend fallback]")) return provider::vendor;
  if (ends_with("kernel]")) return provider::composed;  // [math kernel], [default backend kernel]
  return provider::refused;
}

}  // namespace outback::ops
