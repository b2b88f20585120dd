// What the driver reads of a SPIR-V module itself: enough to refuse what no driver takes, and to
// know the parameters of the kernels.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace outback::software_ze {

struct spirv_parameter {
  enum class kind { value, memory, local };
  kind is = kind::value;
  std::size_t size = 0;  // of a number or a pointer, bytes; 0: of a struct, which is not measured
};

struct spirv_entry_point {
  std::vector<spirv_parameter> parameters;
  std::array<uint32_t, 3> required_group{};  // zeros: any
};

struct spirv_module {
  uint32_t version = 0;  // as in the module: 0x00010200 is 1.2
  std::set<uint32_t> capabilities;
  std::map<std::string, spirv_entry_point> kernels;
};

/// Throws std::runtime_error, whose text is for the build log, unless `bytes` are a whole module.
spirv_module read_spirv(std::string_view bytes);

/// What spirv-val has against the module; "" if that is nothing, or if there is no spirv-val. Keeps
/// what it said about the same bytes.
std::string validate_spirv(const std::string& bytes);

}  // namespace outback::software_ze
