// The data of the operator report: totals of operator calls by operator, dtype, place in the
// program and provider. call_watch.h fills the log.
#pragma once

#include <c10/core/ScalarType.h>

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <variant>
#include <vector>

#include "backend_template/core/operators/call_notes.h"
#include "backend_template/ops/report/known_operator.h"

namespace outback::ops {

/// An argument for a FLOPs formula: a tensor's sizes, a number, a flag, a list of numbers or flags,
/// or std::monostate for any argument that the formula does not need.
using formula_argument =
    std::variant<std::monostate, std::vector<int64_t>, std::vector<bool>, int64_t, double, bool>;

/// The arguments of a call, and the sizes of its results.
struct formula_arguments {
  std::vector<formula_argument> arguments;
  std::vector<std::vector<int64_t>> results;

  void clear() {
    arguments.clear();
    results.clear();
  }
  size_t hash() const;
};

struct call_key {
  const known_operator* op;
  c10::ScalarType dtype;  // of the first tensor on the device; Undefined without one
  provider who;
  uint32_t place;      // 0: not recorded, or no Python code
  uint64_t arguments;  // the hash of the formula's arguments; 0: no formula

  auto operator<=>(const call_key&) const = default;
};

struct call_totals {
  uint64_t calls = 0;
  int64_t total_ns = 0;       // host time
  int64_t own_ns = 0;         // without the time of operators that they called
  uint64_t tensor_bytes = 0;  // size of the tensors that they read and wrote
  core::call_notes notes;

  void add(const call_totals& other);
};

struct logged_calls {
  std::map<call_key, call_totals> totals;
  std::map<uint64_t, formula_arguments> arguments;  // by their hash

  void add(const logged_calls& other);
};

/// The log of one thread. Only its thread writes.
class call_log {
 public:
  call_log();
  ~call_log();  // moves its content to the log of ended threads
  call_log(const call_log&) = delete;
  call_log& operator=(const call_log&) = delete;

  void add(const call_key& key, const call_totals& totals, const formula_arguments& arguments);

 private:
  friend logged_calls all_logged_calls();
  friend void clear_logged_calls();

  struct hash_of_key {
    size_t operator()(const call_key& key) const noexcept {
      const size_t operators = std::hash<const void*>()(key.op) >> 4;
      return operators ^ static_cast<size_t>(key.dtype) << 1 ^ static_cast<size_t>(key.who) << 7 ^
             size_t { key.place } << 11 ^ key.arguments;
    }
  };
  void copy_to(logged_calls& to);  // does not lock, and keeps its content

  std::mutex mutex_;
  std::unordered_map<call_key, call_totals, hash_of_key> totals_;
  std::unordered_map<uint64_t, formula_arguments> arguments_;
};

/// Returns what all threads have logged since the log was cleared. Thread-safe.
logged_calls all_logged_calls();
void clear_logged_calls();

}  // namespace outback::ops
