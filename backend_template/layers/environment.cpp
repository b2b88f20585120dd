// outback::layers::from_environment: reads the three variables and stacks the layers.
#include <string>
#include <vector>

#include "backend_template/layers/layer.hpp"
#include "outback/detail/variables.hpp"
#include "outback/layers.hpp"

namespace outback::layers {

const outback_runtime* from_environment(const outback_runtime* below) {
  using outback::detail::printable;
  using outback::detail::variable;
  // Everything is read before any layer is made, since layers are never taken down.
  const bool validates = outback::detail::flag_variable("OUTBACK_VALIDATE").value_or(false);
  const auto traced = variable("OUTBACK_TRACE");
  const auto disturbed = variable("OUTBACK_FAULTS");
  std::vector<fault> faults;
  try {
    if (disturbed) faults = parse_faults(*disturbed);
  } catch (const invalid_argument& error) {
    throw invalid_argument("OUTBACK_FAULTS: " + printable(error.what()));
  }
  if (!validates && !traced && faults.empty()) return below;

  check_table(below);
  // From the runtime up. Validation asks `below` about devices, past the faults: so they count the
  // caller's calls only. The trace is outermost and sees what the caller sees.
  const outback_runtime* table = below;
  if (!faults.empty()) table = inject(table, faults);
  if (validates) table = validate(table, {.devices = below, .report_at_exit = true});
  if (!traced) return table;
  try {
    return trace(table, *traced);
  } catch (const invalid_argument& error) {
    throw invalid_argument("OUTBACK_TRACE: " + printable(error.what()));
  }
}

}  // namespace outback::layers
