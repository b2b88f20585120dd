// What runs the kernels that are launched, where OUTBACK_ZE_EXECUTE asks for it. Without it,
// launches are only recorded.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace outback::software_ze {

/// The size of a group's local memory, always behind the other arguments.
struct local_memory {
  std::size_t size;
};
/// An argument: a pointer as this process has it, a number or struct, or local memory.
using prepared_argument = std::variant<void*, std::vector<std::byte>, local_memory>;

struct prepared_launch {
  std::string kernel;
  std::array<uint32_t, 3> groups, items;
  std::vector<prepared_argument> arguments;
};

/// May be used from any thread.
class executable {
 public:
  virtual ~executable() = default;
  /// Runs one launch, and returns when it is done. "" or what went wrong.
  virtual std::string run(const prepared_launch& launch) = 0;
};

/// Opens an OpenCL driver of a CPU, which can use the arena's memory. Throws std::runtime_error if
/// no driver here takes SPIR-V.
void open_opencl();
/// Has the module built by that driver. Throws std::runtime_error with the driver's log.
std::shared_ptr<executable> build_opencl(const std::string& spirv);

/// Opens a library with kernels in the form of outback/host_kernel.h, which stand for the kernels
/// of the same names in SPIR-V; others do nothing. Throws std::runtime_error.
std::shared_ptr<executable> open_host_kernels(const std::string& path);

}  // namespace outback::software_ze
