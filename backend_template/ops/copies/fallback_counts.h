// Counts how often each operator runs on the CPU over copies of its tensors. Always on, since such
// a call takes far longer than counting it.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

#include "backend_template/core/operators/call_notes.h"
#include "backend_template/ops/copies/policy.h"

namespace outback::ops {

/// The counts of one operator since the process began.
struct fallback_counts {
  std::atomic<uint64_t> calls{0};
  std::atomic<uint64_t> bytes_to_host{0}, bytes_to_device{0};
};

/// Counts a call of `op`, and the bytes that this thread copies while the object lives.
class counted_fallback {
 public:
  explicit counted_fallback(const operator_text& op);
  ~counted_fallback();
  counted_fallback(const counted_fallback&) = delete;
  counted_fallback& operator=(const counted_fallback&) = delete;

 private:
  fallback_counts& counts_;
  const core::copied_bytes before_;
};

/// Returns the counts of all operators, with keys such as "aten::add.Tensor". Thread-safe.
std::map<std::string, const fallback_counts*> all_fallback_counts();

}  // namespace outback::ops
