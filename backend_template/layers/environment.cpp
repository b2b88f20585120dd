// The layers that the environment asks for.
#include <cstdlib>
#include <string>
#include <vector>

#include "backend_template/layers/make.hpp"
#include "outback/layers.hpp"

namespace outback::layers {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

const outback_runtime* from_environment(const outback_runtime* below) {
  const std::string validated = variable("OUTBACK_VALIDATE");
  const std::string traced = variable("OUTBACK_TRACE");
  const std::string disturbed = variable("OUTBACK_FAULTS");
  const bool validates = validated == "1";
  if (!validates && !validated.empty() && validated != "0") {
    throw invalid_argument("OUTBACK_VALIDATE=" + validated + ": expected 0 or 1");
  }
  std::vector<fault> faults;
  try {
    faults = parse_faults(disturbed);
  } catch (const invalid_argument& error) {
    throw invalid_argument(std::string("OUTBACK_FAULTS: ") + error.what());
  }
  if (!validates && traced.empty() && faults.empty()) return below;

  check_table(below);
  const outback_runtime* table = below;
  if (!faults.empty()) table = inject(table, faults);
  if (validates) table = validate(table, {.devices = below, .report_at_exit = true});
  if (traced.empty()) return table;
  try {
    return trace(table, traced);
  } catch (const invalid_argument& error) {
    throw invalid_argument(std::string("OUTBACK_TRACE: ") + error.what());
  }
}

}  // namespace outback::layers
