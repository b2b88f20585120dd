#include "registration/name.h"

#include <c10/core/DeviceType.h>

#include <algorithm>
#include <string_view>

#include "backend_template/core/runtime/format.h"

namespace outback::registration {
namespace {

constexpr size_t longest_name = 32;  // the same as _LONGEST in names.py

// True for the names of torch's own devices. The list has them too; this is for a torch that is
// newer than the list.
bool is_in_tree(std::string_view name) {
  for (int type = 0; type < c10::COMPILE_TIME_MAX_DEVICE_TYPES; ++type) {
    const auto device = static_cast<c10::DeviceType>(type);
    if (device == c10::DeviceType::PrivateUse1) continue;
    if (name == c10::DeviceTypeName(device, /*lower_case=*/true)) return true;
  }
  return false;
}

// True if `word` is one of the words of `line`, which begins with a space.
bool has_word(std::string_view line, std::string_view word) {
  for (size_t at = line.find(word); at != line.npos; at = line.find(word, at + 1)) {
    const size_t end = at + word.size();
    if (line[at - 1] == ' ' && (end == line.size() || line[end] == ' ')) return true;
  }
  return false;
}

// Returns who has the name already; "" if nobody has.
std::string why_taken(const std::string& name) {
  std::string_view reason;
  for (std::string_view rest = taken_names; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (!line.starts_with(' ')) reason = line;
    if (!line.starts_with(' ') || !has_word(line, name)) continue;
    std::string why(reason);
    if (const size_t star = why.find('*'); star != why.npos) why.replace(star, 1, name);
    return why;
  }
  return is_in_tree(name) ? "PyTorch has a device of that name already" : std::string();
}

}  // namespace

std::string name_problem(const std::string& name) {
  const auto refuse = [&name](std::string_view why) {
    return core::format("\"{}\" cannot be a device's name: {}", name, why);
  };
  if (name.empty())
    return refuse("it is empty; expected lower-case letters and underscores, such as \"acme\"");
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
  if (name.size() > longest_name) {
    return refuse(
        core::format("it has {} characters, at most {} are allowed", name.size(), longest_name));
  }
  if (name.front() == '_' || name.back() == '_')
    return refuse("it must begin and end with a letter");
  if (const std::string why = why_taken(name); !why.empty())
    return refuse(why + "; choose another");
  // torch/serialization.py tests this prefix only.
  if (name.rfind("mps", 0) == 0)
    return refuse("torch.load takes every device that begins with \"mps\" for Apple's");
  if (name == "outback" || name.rfind("outback_", 0) == 0) {
    return refuse("it is the toolkit's own, whose package is torch_outback; choose another");
  }
  return {};
}

}  // namespace outback::registration
