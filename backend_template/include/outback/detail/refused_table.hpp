// Tables of runtimes that could not be made: all that their slots do is say why.
//
// `<name>_runtime()` is C and has to answer a table, whatever the environment says. What is marked
// here is refused by `outback::table_problem`, and so by a registration, before any slot is called.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "outback/runtime.h"

namespace outback::detail {

struct refused_tables {
  std::mutex mutex;
  std::map<const outback_runtime*, std::string> why;
};
inline refused_tables& all_refused_tables() {
  static auto& all = *new refused_tables;  // leaked, as the tables are
  return all;
}

/// `table` stays one whose slots may be called. In this library: one that is loaded has its own.
inline const outback_runtime* refuse_table(const outback_runtime* table, const std::string& why) {
  refused_tables& all = all_refused_tables();
  const std::lock_guard lock(all.mutex);
  all.why[table] = why;
  return table;
}

/// "" for a table that was not refused.
inline std::string refusal_of_table(const outback_runtime* table) {
  refused_tables& all = all_refused_tables();
  const std::lock_guard lock(all.mutex);
  const auto found = all.why.find(table);
  return found == all.why.end() ? "" : found->second;
}

}  // namespace outback::detail
