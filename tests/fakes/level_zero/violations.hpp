// Rules that the caller broke: what a real driver would answer with a crash or wrong data, some
// day.
#pragma once

#include <level_zero/ze_api.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace outback::software_ze {

/// Counts it, keeps the text and writes "outback_ze: violation: <entry point>: <text>" to stderr;
/// ends the process where OUTBACK_ZE_STRICT asks for that. May be called from any thread, in a
/// forked child too.
void report_violation(std::string_view text);

/// Reports it, and throws refusal{result}.
[[noreturn]] void refuse_violation(std::string_view text,
                                   ze_result_t result = ZE_RESULT_ERROR_INVALID_ARGUMENT);

void end_process_on_violation(bool strict);

uint64_t violation_count();
/// "" beyond the last.
std::string violation_text(std::size_t index);
void clear_violations();

}  // namespace outback::software_ze
