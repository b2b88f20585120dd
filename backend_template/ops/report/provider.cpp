#include "backend_template/ops/report/provider.h"

#include <string>
#include <string_view>

#include "backend_template/ops/in_place/cpu_target.h"
#include "backend_template/ops/in_place/twin_target.h"
#include "backend_template/ops/next_provider.h"
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

// On a device that portable kernels do not serve.
provider after_portable(const c10::OperatorHandle& op, provider lent) {
  const core::served_by next = kernel_after(declined_by::portable, op).provider;
  if (next == core::served_by::own) return provider::own;
  return next == core::served_by::composed ? provider::composed : lent;
}

}  // namespace

const char* name_of(provider who) noexcept {
  switch (who) {
    case provider::vendor:
      return "vendor";
    case provider::own:
      return "own";
    case provider::portable:
      return "portable";
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

provider provider_of(const c10::OperatorHandle& op, const kernel_target& target, provider lent,
                     bool has_portable) {
  const std::string line = line_of_device(op);
  const auto ends_with = [&line](std::string_view end) {
    return std::string_view(line).ends_with(end);
  };
  if (line.starts_with(registrar::registered_by)) {
    if (line.starts_with(registrar::registered_as_own)) return provider::own;
    if (line.starts_with(registrar::registered_as_portable)) {
      return has_portable ? provider::portable : after_portable(op, lent);
    }
    const bool has_lender = cpu_target.has_kernel_of(op) || target.has_kernel_of(op);
    if (is_for_twins_alone(op, c10::DispatchKey::Dense) &&
        !op.hasKernelForDispatchKey(target.key())) {
      return has_lender ? provider::composed : provider::refused;
    }
    // The fallback serves what somebody has a kernel for, and refuses the rest.
    return ends_with("[backend fallback]") && !has_lender ? provider::refused : lent;
  }
  if (ends_with("[kernel]") || ends_with("[backend fallback]")) return provider::vendor;
  if (ends_with("kernel]")) return provider::composed;  // [math kernel], [default backend kernel]
  return provider::refused;
}

provider lender_on(c10::DeviceIndex device) {
  return target_of(device).reaches(device) ? provider::in_place : provider::over_copies;
}

}  // namespace outback::ops
