// OUTBACK_REPORT_LEAKS=1: what is still allocated when the process ends, on stderr.
#pragma once

namespace outback::core {

/// Asks for the report, where the environment wants one. The first call counts.
void report_leaks_at_exit();

}  // namespace outback::core
