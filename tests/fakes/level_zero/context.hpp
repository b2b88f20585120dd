// A context: what holds memory, events, lists and queues together.
#pragma once

#include <level_zero/ze_api.h>

#include <atomic>
#include <cstdint>

namespace outback::software_ze {

struct context {
  static constexpr uint8_t handle_kind = 3;
  static constexpr const char* noun = "context";

  std::atomic<int64_t> members{0};  // allocations, pools, lists and queues that live
};

/// Counts a member for as long as it lives.
class membership {
 public:
  explicit membership(context& of) noexcept : of_(of) { of_.members.fetch_add(1); }
  ~membership() { of_.members.fetch_sub(1); }
  membership(const membership&) = delete;
  membership& operator=(const membership&) = delete;

 private:
  context& of_;
};

}  // namespace outback::software_ze
