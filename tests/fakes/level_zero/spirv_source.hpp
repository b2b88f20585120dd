// SPIR-V modules for tests, made without a compiler: kernels that do nothing, or store one number.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outback::software_ze {

/// What a parameter of a kernel is in OpenCL C.
enum class parameter : uint32_t {
  number = 2,  // uint
  memory = 3,  // global uint*
  local = 4,   // local uint*
  pair = 6,    // struct {ulong; uint;}, by value
  wide = 7     // ulong
};

struct kernel_source {
  std::string name;
  std::vector<parameter> parameters;
  bool stores = false;          // parameter 1, a number, where parameter 0, memory, points to
  uint32_t required_items = 0;  // of a group, in dimension x; 0: any
};

namespace capability {
inline constexpr uint32_t addresses = 4, linkage = 5, kernel = 6, float16 = 9, float64 = 10,
                          int64 = 11, int64_atomics = 12;
}  // namespace capability

/// The bytes of a module of version 1.2 that spirv-val finds nothing in.
inline std::string spirv_of(const std::vector<kernel_source>& kernels,
                            const std::vector<uint32_t>& more_capabilities = {},
                            uint32_t version = 0x00010200) {
  std::vector<uint32_t> words;
  const auto add = [&](uint32_t code, std::vector<uint32_t> operands, std::string_view text = {}) {
    const std::size_t letters = code == 15 ? text.size() / 4 + 1 : 0;
    words.push_back(static_cast<uint32_t>(1 + operands.size() + letters) << 16 | code);
    words.insert(words.end(), operands.begin(), operands.end());
    const std::size_t at = words.size();
    words.resize(at + letters);
    if (letters) std::memcpy(&words[at], text.data(), text.size());
  };
  // Types are numbers 1 to 7, functions 10 and on, and whatever is in them is behind.
  constexpr uint32_t void_type = 1, pair_struct = 5, first_function = 10;
  uint32_t next = first_function + static_cast<uint32_t>(kernels.size());
  std::map<std::vector<uint32_t>, uint32_t> function_types;
  std::vector<std::vector<uint32_t>> parameter_ids(kernels.size());
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    std::vector<uint32_t> types;
    for (const parameter each : kernels[k].parameters) {
      types.push_back(static_cast<uint32_t>(each));
      parameter_ids[k].push_back(next++);
    }
    if (!function_types.contains(types)) function_types.emplace(types, next++);
  }

  words = {0x07230203, version, 0, 0, 0};
  for (const uint32_t each : {capability::addresses, capability::kernel, capability::int64}) {
    add(17, {each});
  }
  for (const uint32_t each : more_capabilities) add(17, {each});
  add(14, {2, 2});  // physical 64-bit addresses, OpenCL
  for (uint32_t k = 0; k < kernels.size(); ++k) add(15, {6, first_function + k}, kernels[k].name);
  for (uint32_t k = 0; k < kernels.size(); ++k) {
    if (const uint32_t items = kernels[k].required_items) {
      add(16, {first_function + k, 17, items, 1, 1});
    }
  }
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    for (std::size_t i = 0; i < kernels[k].parameters.size(); ++i) {
      if (kernels[k].parameters[i] == parameter::pair) {
        add(71, {parameter_ids[k][i], 38, 2});  // passed by value
      }
    }
  }
  const auto type = [](parameter is) { return static_cast<uint32_t>(is); };
  add(19, {void_type});
  add(21, {type(parameter::number), 32, 0});
  add(21, {type(parameter::wide), 64, 0});
  add(32, {type(parameter::memory), 5, type(parameter::number)});
  add(32, {type(parameter::local), 4, type(parameter::number)});
  add(30, {pair_struct, type(parameter::wide), type(parameter::number)});
  add(32, {type(parameter::pair), 7, pair_struct});
  for (const auto& [types, id] : function_types) {
    std::vector<uint32_t> operands{id, void_type};
    operands.insert(operands.end(), types.begin(), types.end());
    add(33, operands);
  }
  for (uint32_t k = 0; k < kernels.size(); ++k) {
    std::vector<uint32_t> types;
    for (const parameter each : kernels[k].parameters) types.push_back(type(each));
    add(54, {void_type, first_function + k, 0, function_types.at(types)});
    for (std::size_t i = 0; i < types.size(); ++i) add(55, {types[i], parameter_ids[k][i]});
    add(248, {next++});
    if (kernels[k].stores) add(62, {parameter_ids[k].at(0), parameter_ids[k].at(1), 2, 4});
    add(253, {});
    add(56, {});
  }
  words[3] = next;
  return std::string(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint32_t));
}

}  // namespace outback::software_ze
