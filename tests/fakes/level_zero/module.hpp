// Modules, what their compiler said, and kernels.
#pragma once

#include <level_zero/ze_api.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/fakes/level_zero/context.hpp"
#include "tests/fakes/level_zero/device.hpp"
#include "tests/fakes/level_zero/executable.hpp"
#include "tests/fakes/level_zero/spirv.hpp"

namespace outback::software_ze {

/// Without this option, kernels may not use allocations of more than 4 GiB.
inline constexpr const char* large_memory_option = "-ze-opt-greater-than-4GB-buffer-required";

struct module {
  static constexpr uint8_t handle_kind = 11;
  static constexpr const char* noun = "module";

  module(std::shared_ptr<context> of_, std::shared_ptr<device> on_) :of(of_), on(on_) {}

  const std::shared_ptr<context> of;
  const std::shared_ptr<device> on;
  const membership member{*of};
  spirv_module code;
  bool large_memory = false;                            // it may count bytes with more than 32 bits
  std::shared_ptr<software_ze::executable> executable;  // null: launches are only recorded
  std::atomic<int64_t> kernels{0};                      // that live
};

struct build_log {
  static constexpr uint8_t handle_kind = 12;
  static constexpr const char* noun = "build log";

  std::string text;
};

/// Bytes of a number, a struct or a pointer; no bytes, but a size, for local memory.
struct kernel_argument {
  std::vector<std::byte> bytes;
  std::size_t local_size = 0;
};

struct kernel {
  static constexpr uint8_t handle_kind = 13;
  static constexpr const char* noun = "kernel";

  kernel(std::shared_ptr<module> of_, std::string name_)
      : of(std::move(of_)), name(std::move(name_)), entry_point(of->code.kernels.at(name)) {
    arguments.resize(entry_point.parameters.size());
    of->kernels.fetch_add(1);
  }
  ~kernel() { of->kernels.fetch_sub(1); }
  kernel(const kernel&) = delete;
  kernel& operator=(const kernel&) = delete;

  const std::shared_ptr<module> of;
  const std::string name;
  const spirv_entry_point& entry_point;
  std::atomic<int64_t> in_flight{0};  // launches that are not done

  // The state of the next launch, for one thread at a time.
  std::atomic<bool> taken{false};
  std::array<uint32_t, 3> group{1, 1, 1};
  std::vector<std::optional<kernel_argument>> arguments;
  ze_kernel_indirect_access_flags_t indirect = 0;
};

}  // namespace outback::software_ze
