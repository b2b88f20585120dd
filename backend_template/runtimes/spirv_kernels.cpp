#include "backend_template/runtimes/spirv_kernels.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "outback/runtime_error.hpp"

namespace outback {
namespace {

// Source: the SPIR-V specification, sections 2.3 (physical layout), 3.4 (execution models), 3.7
// (storage classes), 3.20 (decorations) and 3.52 (instructions).
constexpr uint32_t magic = 0x07230203, swapped_magic = 0x03022307;
constexpr std::size_t header_words = 5;
constexpr uint32_t model_kernel = 6;
constexpr uint32_t decoration_packed = 10;
enum storage : uint32_t { uniform_constant = 0, workgroup = 4, cross_workgroup = 5, function = 7 };
enum opcode : uint16_t {
  op_memory_model = 14,
  op_entry_point = 15,
  op_type_int = 21,
  op_type_float = 22,
  op_type_vector = 23,
  op_type_array = 28,
  op_type_struct = 30,
  op_type_pointer = 32,
  op_type_function = 33,
  op_constant = 43,
  op_function = 54,
  op_function_end = 56,
  op_decorate = 71,
  op_type_untyped_pointer = 4417,
};

constexpr uint32_t pointer_size = sizeof(void*);

[[noreturn]] void refuse(const std::string& why) {
  throw invalid_argument("the module is no SPIR-V: " + why);
}
[[noreturn]] void refuse_end() {
  refuse("its end is missing");
}

struct layout {
  uint64_t size = 0, alignment = 1;  // bytes; size 0: not known
};

class reader {
 public:
  explicit reader(std::vector<uint32_t> words) : words_(std::move(words)) { read(); }

  std::vector<spirv_kernel> kernels() const {
    std::vector<spirv_kernel> all;
    for (const auto& [function, name] : entry_points_) all.push_back({name, parameters(function)});
    return all;
  }

 private:
  struct instruction {
    uint16_t code = 0;
    std::span<const uint32_t> operands;
    uint32_t at(std::size_t i) const {
      if (i >= operands.size()) refuse("an instruction is too short");
      return operands[i];
    }
  };

  void read() {
    bool has_memory_model = false, in_function = false;
    for (std::size_t next = header_words; next < words_.size();) {
      const uint32_t length = words_[next] >> 16;
      if (length == 0) refuse("an instruction has no length");
      if (length > words_.size() - next) refuse_end();
      const instruction it{uint16_t(words_[next] & 0xffff),
                           std::span(words_).subspan(next + 1, length - 1)};
      note(it);
      has_memory_model |= it.code == op_memory_model;
      if (it.code == op_function) in_function = true;
      if (it.code == op_function_end) in_function = false;
      next += length;
    }
    const bool complete =
        std::all_of(entry_points_.begin(), entry_points_.end(),
                    [&](const auto& each) { return functions_.contains(each.first); });
    if (in_function || !has_memory_model || !complete) refuse_end();
    if (entry_points_.empty()) throw invalid_argument("the SPIR-V module has no kernel");
  }

  void note(const instruction& it) {
    switch (it.code) {
      case op_entry_point:
        if (it.at(0) == model_kernel) entry_points_.emplace_back(it.at(1), text(it, 2));
        break;
      case op_type_int:
      case op_type_float:
      case op_type_vector:
      case op_type_array:
      case op_type_struct:
      case op_type_pointer:
      case op_type_function:
      case op_type_untyped_pointer:
        types_[it.at(0)] = {it, laid_out(it)};
        break;
      case op_constant:
        constants_[it.at(1)] = it.at(2);
        break;
      case op_function:
        functions_[it.at(1)] = it.at(3);
        break;
      case op_decorate:
        if (it.at(1) == decoration_packed) packed_.insert(it.at(0));
        break;
      default:
        break;
    }
  }

  static std::string text(const instruction& it, std::size_t first) {
    it.at(first);
    const auto* const begin = reinterpret_cast<const char*>(&it.operands[first]);
    const std::size_t room = (it.operands.size() - first) * sizeof(uint32_t);
    return std::string(begin, strnlen(begin, room));
  }

  std::vector<spirv_parameter> parameters(uint32_t function) const {
    const instruction* const type = type_of(functions_.at(function));
    if (type == nullptr || type->code != op_type_function) refuse("a function has no type");
    std::vector<spirv_parameter> all;
    for (std::size_t i = 2; i < type->operands.size(); ++i) {
      all.push_back(parameter(type->operands[i]));
    }
    return all;
  }

  spirv_parameter parameter(uint32_t type_id) const {
    using sort = spirv_parameter::sort;
    const instruction* const type = type_of(type_id);
    if (type == nullptr) return {sort::other, 0};
    if (type->code != op_type_pointer && type->code != op_type_untyped_pointer) {
      return {sort::value, uint32_t(layout_of(type_id).size)};
    }
    switch (type->at(1)) {
      case workgroup:
        return {sort::local, 0};
      case function:
        // A struct, which the caller passes by value.
        return {sort::value,
                type->code == op_type_pointer ? uint32_t(layout_of(type->at(2)).size) : 0};
      case uniform_constant:
      case cross_workgroup:
        return {sort::memory, pointer_size};
      default:
        return {sort::other, 0};
    }
  }

  const instruction* type_of(uint32_t id) const {
    const auto found = types_.find(id);
    return found == types_.end() ? nullptr : &found->second.first;
  }

  layout layout_of(uint32_t id) const {
    const auto found = types_.find(id);
    return found == types_.end() ? layout() : found->second.second;
  }

  // As OpenCL C lays it out. A type names only types before it, so each is laid out once.
  layout laid_out(const instruction& type) const {
    switch (type.code) {
      case op_type_int:
      case op_type_float:
        return {type.at(1) / 8, std::max(type.at(1) / 8, 1u)};
      case op_type_vector: {
        const uint64_t lanes = type.at(2) == 3 ? 4 : type.at(2);
        const uint64_t size = layout_of(type.at(1)).size * lanes;
        return {size, std::max<uint64_t>(size, 1)};
      }
      case op_type_array: {
        const layout one = layout_of(type.at(1));
        const auto count = constants_.find(type.at(2));
        return {count == constants_.end() ? 0 : one.size * count->second, one.alignment};
      }
      case op_type_struct:
        return laid_out_struct(type);
      default:
        return {pointer_size, pointer_size};
    }
  }

  layout laid_out_struct(const instruction& type) const {
    const bool is_packed = packed_.contains(type.at(0));
    layout whole;
    const auto round_up = [&](uint64_t alignment) {
      whole.size = (whole.size + alignment - 1) / alignment * alignment;
    };
    for (const uint32_t member : type.operands.subspan(1)) {
      const layout one = layout_of(member);
      if (one.size == 0) return {};
      if (!is_packed) {
        round_up(one.alignment);
        whole.alignment = std::max(whole.alignment, one.alignment);
      }
      whole.size += one.size;
    }
    round_up(whole.alignment);
    return whole;
  }

  const std::vector<uint32_t> words_;
  std::vector<std::pair<uint32_t, std::string>> entry_points_;  // a function, and a kernel's name
  std::map<uint32_t, std::pair<instruction, layout>> types_;
  std::map<uint32_t, uint32_t> constants_;
  std::map<uint32_t, uint32_t> functions_;  // to their types
  std::set<uint32_t> packed_;
};

}  // namespace

uint32_t spirv_version(const void* bytes) noexcept {
  uint32_t version = 0;
  std::memcpy(&version, static_cast<const char*>(bytes) + sizeof(uint32_t), sizeof(version));
  return version;
}

std::vector<spirv_kernel> spirv_kernels(const void* bytes, std::size_t size) {
  std::vector<uint32_t> words(size / sizeof(uint32_t));
  if (!words.empty()) std::memcpy(words.data(), bytes, words.size() * sizeof(uint32_t));
  if (words.empty() || words[0] != magic) {
    refuse(!words.empty() && words[0] == swapped_magic
               ? "its numbers have the byte order of another processor"
               : "it does not begin with SPIR-V's number, 0x07230203");
  }
  if (words.size() < header_words || size % sizeof(uint32_t) != 0) refuse_end();
  return reader(std::move(words)).kernels();
}

}  // namespace outback
