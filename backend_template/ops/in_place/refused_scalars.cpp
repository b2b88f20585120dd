#include "backend_template/ops/in_place/refused_scalars.h"

#include <algorithm>
#include <string>

namespace outback::ops {
namespace {

// Made of cpu_scalars.txt when the build is configured (ops/CMakeLists.txt).
constexpr std::string_view lines[] = {
#include "cpu_scalars.inc"
};
static_assert(std::is_sorted(std::begin(lines), std::end(lines)));

}  // namespace

std::span<const std::string_view> cpu_scalar_answers() {
  return lines;
}

bool refuses_scalar(std::string_view name, std::string_view overload, std::string_view argument) {
  constexpr std::string_view aten = "aten::";
  if (!name.starts_with(aten)) return false;
  // torch.cuda was asked with an alpha. Without one it takes a CPU scalar, by another kernel.
  if (name == "aten::_foreach_add_" && overload == "Tensor" && argument == "other") return false;
  // torch 2.13, which was asked, has another name for it than 2.15.
  if (name == "aten::_cdist_backward" && argument == "grad_output") argument = "grad";
  std::string start(name.substr(aten.size()));
  start.append(".").append(overload.empty() ? "default" : overload).append(": ");
  const auto* const line = std::lower_bound(std::begin(lines), std::end(lines), start);
  if (line == std::end(lines) || !line->starts_with(start)) return false;
  const std::string refused = std::string("-").append(argument);
  for (std::string_view rest = line->substr(start.size()); !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    if (word.substr(0, word.find('[')) == refused) return true;
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  }
  return false;
}

}  // namespace outback::ops
