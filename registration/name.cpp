#include "registration/name.h"

#include <c10/core/DeviceType.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "backend_template/core/format.h"

namespace outback::registration {
namespace {

constexpr size_t longest_name = 32;

// Names that c10::DeviceTypeName does not give and torch takes for its own all the same.
constexpr std::array<std::string_view, 5> reserved = {"privateuse", "privateuse1", "privateuseone",
                                                      "gpu", "accelerator"};

bool is_in_tree(std::string_view name) {
  if (std::find(reserved.begin(), reserved.end(), name) != reserved.end()) return true;
  for (int type = 0; type < c10::COMPILE_TIME_MAX_DEVICE_TYPES; ++type) {
    const auto device = static_cast<c10::DeviceType>(type);
    if (device == c10::DeviceType::PrivateUse1) continue;
    if (name == c10::DeviceTypeName(device, /*lower_case=*/true)) return true;
  }
  return false;
}

}  // namespace

std::string name_problem(const std::string& name) {
  const auto refuse = [&name](std::string_view why) {
    return core::format("\"{}\" cannot be a device's name: {}", name, why);
  };
  if (name.empty())
    return refuse("it is empty; expected lower-case letters and underscores, such as \"acme\"");
  if (name.size() > longest_name) {
    return refuse(
        core::format("it has {} characters, at most {} are allowed", name.size(), longest_name));
  }
  for (const char c : name) {
    if ((c >= 'a' && c <= 'z') || c == '_') continue;
    if (c >= 'A' && c <= 'Z')
      return refuse("upper-case letters are not allowed, torch lowers them in C++ only");
    if (c >= '0' && c <= '9')
      return refuse("digits are not allowed, torch.device cannot parse them");
    return refuse(
        "only lower-case letters and underscores are allowed, torch.device cannot parse anything "
        "else");
  }
  if (name.front() == '_' || name.back() == '_')
    return refuse("it must begin and end with a letter");
  if (is_in_tree(name)) return refuse("PyTorch has a device of that name already; choose another");
  if (name.rfind("mps", 0) == 0)
    return refuse("torch.load takes every device that begins with \"mps\" for Apple's");
  return {};
}

}  // namespace outback::registration
