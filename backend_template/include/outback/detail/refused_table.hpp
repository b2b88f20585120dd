// A list of tables that stand in for runtimes that could not be made, with the reason for each.
//
// A function such as outback_host_runtime() is C and must return a table, even if an environment
// variable is malformed. It then returns a table whose slots fail with the reason, and marks the
// table here. `outback::table_problem` reports the reason, so that a registration is refused before
// any slot is called.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "outback/runtime.h"

namespace outback::detail {

/// All tables that were refused, with the reason. `mutex` guards `why`.
struct refused_tables {
  std::mutex mutex;
  std::map<const outback_runtime*, std::string> why;
};

/// Returns the list. A shared library that hides its symbols has its own list: see `refuse_table`.
inline refused_tables& all_refused_tables() {
  static auto& all = *new refused_tables;  // leaked, as the tables are
  return all;
}

/// Marks `table` as refused because of `why`, and returns `table`. Its slots may still be called.
/// If the shared library hides its symbols, only readers in the same library see the mark, since
/// such a library has its own list. Thread-safe.
inline const outback_runtime* refuse_table(const outback_runtime* table, const std::string& why) {
  refused_tables& all = all_refused_tables();
  const std::lock_guard lock(all.mutex);
  all.why[table] = why;
  return table;
}

/// Returns why `table` was refused; "" if it was not. Thread-safe.
inline std::string refusal_of_table(const outback_runtime* table) {
  refused_tables& all = all_refused_tables();
  const std::lock_guard lock(all.mutex);
  const auto found = all.why.find(table);
  return found == all.why.end() ? "" : found->second;
}

}  // namespace outback::detail
