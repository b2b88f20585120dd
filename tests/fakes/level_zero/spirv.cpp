#include "tests/fakes/level_zero/spirv.hpp"

#include <fmt/format.h>

#include <cstring>
#include <stdexcept>
#include <utility>

namespace outback::software_ze {
namespace {

// Source: the SPIR-V specification, 2.3 and 3.52.
enum : uint32_t {
  op_memory_model = 14,
  op_entry_point = 15,
  op_execution_mode = 16,
  op_capability = 17,
  op_type_int = 21,
  op_type_float = 22,
  op_type_pointer = 32,
  op_type_function = 33,
  op_function = 54,
  op_function_end = 56,
};
enum : uint32_t { model_kernel = 6, mode_local_size = 17 };
enum : uint32_t { class_workgroup = 4, class_function = 7 };
constexpr std::size_t header = 5;

struct words {
  std::vector<uint32_t> all;

  uint32_t at(std::size_t index) const {
    if (index >= all.size()) throw std::runtime_error("the module ends inside an instruction");
    return all[index];
  }
};

class module_reader {
 public:
  explicit module_reader(std::string_view bytes) {
    in_.all.resize(bytes.size() / sizeof(uint32_t));
    std::memcpy(in_.all.data(), bytes.data(), in_.all.size() * sizeof(uint32_t));
    if (in_.all.empty() || in_.all[0] != 0x07230203) {
      throw std::runtime_error("invalid SPIR-V magic number");
    }
    if (in_.all.size() < header || bytes.size() % sizeof(uint32_t) != 0) {
      throw std::runtime_error("the module ends inside its header or a word");
    }
    result_.version = in_.all[1];
    for (std::size_t next = header; next < in_.all.size();) {
      const uint32_t length = in_.all[next] >> 16;
      if (length == 0) throw std::runtime_error(fmt::format("word {} is no instruction", next));
      in_.at(next + length - 1);
      read(in_.all[next] & 0xffff, next + 1, next + length);
      next += length;
    }
    if (!has_memory_model_) throw std::runtime_error("the module has no memory model");
    if (in_function_) throw std::runtime_error("the module ends inside a function");
    if (entry_points_.empty()) throw std::runtime_error("the module has no entry point");
  }

  spirv_module finish() {
    for (const auto& [name, function] : entry_points_) {
      const auto type = functions_.find(function);
      if (type == functions_.end()) {
        throw std::runtime_error(fmt::format("the entry point {} has no function", name));
      }
      spirv_entry_point& kernel = result_.kernels[name];
      for (const uint32_t each : function_types_[type->second]) {
        kernel.parameters.push_back(parameters_[each]);
      }
      if (const auto found = groups_.find(function); found != groups_.end()) {
        kernel.required_group = found->second;
      }
    }
    return std::move(result_);
  }

 private:
  void read(uint32_t code, std::size_t first, std::size_t end) {
    using kind = spirv_parameter::kind;
    const auto operand = [&](std::size_t index) { return in_.at(first + index); };
    switch (code) {
      case op_capability:
        result_.capabilities.insert(operand(0));
        break;
      case op_memory_model:
        has_memory_model_ = true;
        break;
      case op_entry_point:
        if (operand(0) == model_kernel) {
          const auto* text = reinterpret_cast<const char*>(&in_.all[first + 2]);
          const std::size_t room = (end - first - 2) * sizeof(uint32_t);
          entry_points_.emplace_back(std::string(text, strnlen(text, room)), operand(1));
        }
        break;
      case op_execution_mode:
        if (operand(1) == mode_local_size) {
          groups_[operand(0)] = {operand(2), operand(3), operand(4)};
        }
        break;
      case op_type_int:
      case op_type_float:
        parameters_[operand(0)] = {kind::value, operand(1) / 8};
        break;
      case op_type_pointer:
        parameters_[operand(0)] = operand(1) == class_workgroup ? spirv_parameter{kind::local, 0}
                                  : operand(1) == class_function
                                      ? spirv_parameter{kind::value, 0}
                                      : spirv_parameter{kind::memory, sizeof(void*)};
        break;
      case op_type_function:
        for (std::size_t at = first + 2; at < end; ++at) {
          function_types_[operand(0)].push_back(in_.at(at));
        }
        break;
      case op_function:
        functions_[operand(1)] = operand(3);
        in_function_ = true;
        break;
      case op_function_end:
        in_function_ = false;
        break;
      default:
        break;
    }
  }

  words in_;
  spirv_module result_;
  bool has_memory_model_ = false, in_function_ = false;
  std::vector<std::pair<std::string, uint32_t>> entry_points_;
  std::map<uint32_t, std::array<uint32_t, 3>> groups_;
  std::map<uint32_t, spirv_parameter> parameters_;  // by the parameter's type
  std::map<uint32_t, std::vector<uint32_t>> function_types_;
  std::map<uint32_t, uint32_t> functions_;
};

}  // namespace

spirv_module read_spirv(std::string_view bytes) {
  return module_reader(bytes).finish();
}

}  // namespace outback::software_ze
