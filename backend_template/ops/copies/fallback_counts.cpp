#include "backend_template/ops/copies/fallback_counts.h"

#include <mutex>

namespace outback::ops {
namespace {

// Leaked: operators may run until the process ends.
struct fallback_table {
  std::mutex mutex;
  std::map<std::string, fallback_counts> counts;  // whose places do not move
};
fallback_table& fallbacks_so_far() {
  static auto& kept = *new fallback_table;
  return kept;
}

fallback_counts& entry_of(const operator_text& op) {
  const std::string text = op.text();
  const std::lock_guard<std::mutex> lock(fallbacks_so_far().mutex);
  return fallbacks_so_far().counts[text];
}

}  // namespace

counted_fallback::counted_fallback(const operator_text& op)
    : counts_(entry_of(op)), before_(core::copied_by_thread()) {
  ++counts_.calls;
}

counted_fallback::~counted_fallback() {
  const core::copied_bytes& now = core::copied_by_thread();
  counts_.bytes_to_host += now.to_host - before_.to_host;
  counts_.bytes_to_device += now.to_device - before_.to_device;
}

std::map<std::string, const fallback_counts*> all_fallback_counts() {
  const std::lock_guard<std::mutex> lock(fallbacks_so_far().mutex);
  std::map<std::string, const fallback_counts*> found;
  for (const auto& [text, counts] : fallbacks_so_far().counts) found.emplace(text, &counts);
  return found;
}

}  // namespace outback::ops
