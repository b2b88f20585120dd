// The layer that hides devices and gives the others new numbers, and the reading of lists of
// devices. outback/layers.hpp says what both promise.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "backend_template/layers/call.hpp"
#include "backend_template/layers/kept_list.hpp"
#include "backend_template/layers/layer.hpp"
#include "outback/answer_check.hpp"
#include "outback/detail/device_list.hpp"
#include "outback/layers.hpp"

namespace outback::layers {
namespace {

// Throws the failure of a slot of the table below, with that table's text.
void check_below(const outback_runtime& below, outback_status status, const char* slot) {
  if (status == OUTBACK_OK) return;
  const char* text = below.last_error(below.self);
  throw runtime_error(status, std::string(slot) + ": " + (text == nullptr ? "" : text));
}

int32_t count_of(const outback_runtime& below) {
  int32_t count = -1;
  check_below(below, below.device_count(below.self, &count), "device_count");
  if (const std::string problem = device_count_problem(count); !problem.empty()) {
    throw runtime_error(OUTBACK_INTERNAL, "device_count: the runtime is wrong: it " + problem);
  }
  return count;
}

std::vector<std::string> uuids_of(const outback_runtime& below, int32_t count) {
  std::vector<std::string> all;
  for (int32_t device = 0; device < count; ++device) {
    outback_device_info info = {};
    info.struct_size = sizeof(info);
    check_below(below, below.device_info(below.self, device, &info), "device_info");
    all.push_back(outback::detail::uuid_text(info.uuid));
  }
  return all;
}

// The layer. It translates the device indices among the arguments, by their roles. Handles need no
// translation: each belongs to one device.
class selection : public layer<selection> {
 public:
  selection(const outback_runtime& below, std::vector<int32_t> devices)
      : layer(below), devices_(std::move(devices)) {}

  template <class Slot, class... Args>
  outback_status call(Args... args) {
    if constexpr (std::is_same_v<Slot, slots::device_count>) {
      return count(args...);
    } else if constexpr (std::is_same_v<Slot, slots::host_info>) {
      return info(args...);
    } else {
      std::size_t i = 0;
      (translate(Slot::arguments[i++], args), ...);
      return below<Slot>(args...);
    }
  }

 private:
  outback_status count(int32_t* count) const {
    if (count == nullptr) throw invalid_argument("device_count: count is null");
    *count = int32_t(devices_.size());
    return OUTBACK_OK;
  }

  // host_memory.info is the only slot whose result contains a device index.
  outback_status info(const void* ptr, outback_pointer_info* info) const {
    if (info == nullptr) return below<slots::host_info>(ptr, info);  // the runtime refuses it
    // Asks into a copy, so that the caller's struct stays as it was if the device is hidden. The
    // caller's struct may be older and end earlier, or newer and longer. The runtime is told the
    // size of the copy. Members that this layer does not know stay as the caller had them, since
    // they might name a hidden device.
    const std::size_t size = std::min(std::size_t{info->struct_size}, sizeof(outback_pointer_info));
    outback_pointer_info answer = {};
    answer.device = OUTBACK_HOST;  // what stays if the caller's struct ends before `device`
    std::memcpy(&answer, info, size);
    answer.struct_size = uint32_t(size);
    const outback_status status = below<slots::host_info>(ptr, &answer);
    if (status != OUTBACK_OK) return status;
    if (answer.device != OUTBACK_HOST) answer.device = visible_number(answer.device);
    answer.struct_size = info->struct_size;
    std::memcpy(info, &answer, size);
    return OUTBACK_OK;
  }

  // Memory of a hidden device cannot be described: its index would be another device's.
  int32_t visible_number(int32_t device) const {
    const auto found = std::find(devices_.begin(), devices_.end(), device);
    if (found == devices_.end()) {
      throw invalid_argument("host_memory.info: the memory is of device " + std::to_string(device) +
                             " of the runtime, which is hidden");
    }
    return int32_t(found - devices_.begin());
  }

  // Device indices are int32_t; other types compile to nothing.
  template <class Arg>
  void translate(argument a, Arg& value) const {
    if constexpr (std::is_same_v<Arg, int32_t>) {
      const bool is_device = a.is == role::device || (a.is == role::side && value != OUTBACK_HOST);
      if (is_device) value = device_below(a.name, value);
    }
  }

  int32_t device_below(const char* argument, int32_t device) const {
    if (device < 0 || std::size_t(device) >= devices_.size()) {
      throw invalid_argument(std::string(argument) + " is " + std::to_string(device) +
                             ": expected one of " + std::to_string(devices_.size()) +
                             " visible devices");
    }
    return devices_[std::size_t(device)];
  }

  const std::vector<int32_t> devices_;
};

}  // namespace

std::vector<int32_t> parse_visible_devices(const outback_runtime* below, std::string_view list) {
  check_table(below);
  const int32_t count = count_of(*below);
  return outback::detail::listed_devices(list, count, [&] { return uuids_of(*below, count); });
}

const outback_runtime* select_devices(const outback_runtime* below,
                                      const std::vector<int32_t>& devices) {
  check_table(below);
  const int32_t count = count_of(*below);
  for (const int32_t device : devices) {
    if (device < 0 || device >= count) {
      throw invalid_argument("device " + std::to_string(device) + ": expected one of " +
                             std::to_string(count) + " devices");
    }
  }
  if (std::set<int32_t>(devices.begin(), devices.end()).size() != devices.size()) {
    throw invalid_argument("a device is named twice");
  }
  // Leaked, as every layer. The list keeps it reachable, so that leak checkers do not report it.
  static auto& all = *new kept_list<const selection*>;
  const auto* const made = new selection(*below, devices);
  all.add(made);
  return made->table();
}

}  // namespace outback::layers
