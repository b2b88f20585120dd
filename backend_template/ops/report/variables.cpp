#include "backend_template/ops/report/variables.h"

#include "backend_template/core/runtime/environment.h"

namespace outback::ops {
namespace {

struct report_variables {
  std::optional<std::string> file;
  bool with_places = false;
};
report_variables& variables_of_report() {
  static auto& kept = *new report_variables;  // leaked
  return kept;
}

}  // namespace

void read_report_variables() {
  core::from_environment([] {
    variables_of_report() = {
        outback::detail::variable("OUTBACK_OPERATORS"),
        outback::detail::flag_variable("OUTBACK_OPERATORS_STACK").value_or(false)};
  });
}

const std::optional<std::string>& wanted_report() noexcept {
  return variables_of_report().file;
}

bool are_places_wanted() noexcept {
  return variables_of_report().with_places;
}

}  // namespace outback::ops
