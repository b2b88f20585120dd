// The table for a runtime that cannot be made because an environment variable is malformed.
#pragma once

#include <string>

#include "backend_template/runtimes/slot_members.hpp"
#include "outback/detail/refused_table.hpp"
#include "outback/runtime.hpp"

namespace outback {

/// A runtime in which every member throws outback::invalid_argument with the same text.
class refused_runtime {
 public:
  explicit refused_runtime(const std::string& why) : why_(why) {}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define OUTBACK_REFUSE(group, slot, member, result, parameters, ...) \
  [[noreturn]] result member parameters { throw invalid_argument(why_); }
#define OUTBACK_REFUSE_ALL(group, ...) OUTBACK_SLOTS_OF_##group(OUTBACK_REFUSE)
  OUTBACK_REFUSE_ALL(runtime)
  OUTBACK_GROUPS(OUTBACK_REFUSE_ALL)
#undef OUTBACK_REFUSE_ALL
#undef OUTBACK_REFUSE
#pragma GCC diagnostic pop

 private:
  const std::string why_;
};

/// Returns the table of the runtime that `make()` returns a pointer to; the runtime must live as
/// long as the process. If `make` throws outback::runtime_error, returns a table whose slots fail
/// with the text of that exception. That table is marked as refused, so that a registration fails
/// with the text before it calls a slot. Use this in a C function that must return a table even if
/// the environment is malformed.
template <class Make>
const outback_runtime* table_or_refusal(const Make& make) {
  try {
    return table_of(*make());
  } catch (const runtime_error& error) {
    return detail::refuse_table(table_of(*new refused_runtime(error.what())), error.what());
  }
}

}  // namespace outback
