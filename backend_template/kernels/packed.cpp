#include "outback/kernels/packed.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "backend_template/kernels/services.h"
#include "outback/kernels/module.h"
#include "outback/kernels/runtime.h"

namespace outback::kernels {
namespace {

struct loaded_module {
  std::unique_ptr<const module> code;
  uint32_t items;
};

// Leaked: what is loaded stays until the process ends, after which no runtime could unload it.
struct all_packed {
  std::mutex mutex;
  std::vector<packed_module> own;  // of this library
  std::map<std::pair<c10::DeviceIndex, std::string>, loaded_module> loaded;
};
all_packed& all() {
  static all_packed& made = *new all_packed;
  return made;
}

struct target {
  outback_formats formats = {};
  uint32_t most_items = 0;
  uint32_t flags = 0;
};

target target_of(c10::Device device) {
  target made;
  outback_device_info info = {};
  info.struct_size = sizeof(info);
  check(runtime().device_info(runtime().self, device.index(), &info), "device_info");
  made.most_items = info.max_group_size == 0 ? 256 : info.max_group_size;
  made.flags = info.flags;
  TORCH_CHECK_NOT_IMPLEMENTED(runtime().kernels != nullptr, services().backend_name(),
                              ": the runtime has no group kernels (outback/runtime.h)");
  made.formats.struct_size = sizeof(made.formats);
  check(runtime().kernels->formats(runtime().self, device.index(), &made.formats),
        "kernels.formats");
  return made;
}

bool fits(const packed_module& one, const target& on) {
  return one.items <= on.most_items &&
         (one.has_float64 == 0 || (on.flags & OUTBACK_NO_FLOAT64) == 0);
}

// A larger group, and then float64, is better.
bool is_worse(const packed_module* a, const packed_module* b) {
  return std::pair(a->items, a->has_float64) < std::pair(b->items, b->has_float64);
}

const packed_module& best_of(const std::vector<packed_module>& named, const target& on,
                             c10::Device device) {
  const auto* const end = on.formats.list + on.formats.count;
  for (const auto* format = on.formats.list; format != end; ++format) {
    std::vector<const packed_module*> fitting;
    for (const packed_module& each : named) {
      if (each.format == *format && fits(each, on)) fitting.push_back(&each);
    }
    if (!fitting.empty()) return **std::max_element(fitting.begin(), fitting.end(), is_worse);
  }
  std::string packed, taken;
  for (const packed_module& each : named) packed += " " + std::to_string(each.format);
  for (const auto* format = on.formats.list; format != end; ++format) {
    taken += " " + std::to_string(*format);
  }
  TORCH_CHECK(false, "the module ", named.front().name, " is packed in the formats", packed,
              " (outback_format in outback/runtime.h) and none fits ", device, ", which takes",
              taken, ": add a format of the device's to outback_add_kernels()");
}

// Text is compiled for this device, so it may use all that the device has.
std::string definitions(uint32_t items, const target& on) {
  std::string lines = "#define LSIZE " + std::to_string(items) + "\n";
  if ((on.flags & OUTBACK_NO_FLOAT64) == 0) lines += "#define HAS_F64\n";
  if ((on.flags & OUTBACK_NO_FLOAT16) == 0) lines += "#define HAS_F16\n";
  if ((on.flags & OUTBACK_NO_INT64_ATOMICS) == 0) lines += "#define HAS_I64_ATOMICS\n";
  return lines;
}

uint32_t largest_group(const target& on) {
  uint32_t items = 256;
  while (items > on.most_items) items /= 2;
  return items;
}

// At the end of a process, for a layer that reports what is left.
void unload_all() noexcept {
  std::map<std::pair<c10::DeviceIndex, std::string>, loaded_module> loaded;
  {
    const std::lock_guard lock(all().mutex);
    loaded.swap(all().loaded);
  }
}

loaded_module load(c10::Device device, const std::vector<packed_module>& named) {
  const target on = target_of(device);
  const packed_module& chosen = best_of(named, on, device);
  const std::string_view bytes(chosen.begin, std::size_t(chosen.end - chosen.begin));
  if (chosen.items != 0) {
    return {std::make_unique<const module>(device, chosen.format, bytes), chosen.items};
  }
  const uint32_t items = largest_group(on);
  const std::string text = definitions(items, on) + std::string(bytes);
  return {std::make_unique<const module>(device, chosen.format, text), items};
}

}  // namespace

packed_kernel find_packed(c10::Device device, const std::string& module, const std::string& name) {
  // Loading may take seconds and calls the driver, so the lock is not held. Two threads that load
  // a module at once load it twice, and the second one's is dropped.
  const std::pair key(device.index(), module);
  std::unique_lock lock(all().mutex);
  auto found = all().loaded.find(key);
  if (found == all().loaded.end()) {
    std::vector<packed_module> named;
    for (const packed_module& each : all().own) {
      if (each.name == module) named.push_back(each);
    }
    for (const packed_module& each : services().packed_modules()) {
      if (each.name == module) named.push_back(each);
    }
    lock.unlock();
    TORCH_CHECK(!named.empty(), "no module ", module,
                " is packed: expected a source of outback_add_kernels(), without its ending");
    [[maybe_unused]] static const bool is_registered = [] {
      services().give_back_at_exit(&unload_all);
      return true;
    }();
    loaded_module made = load(device, named);
    lock.lock();
    found = all().loaded.try_emplace(key, std::move(made)).first;
  }
  const loaded_module& there = found->second;  // stays where it is
  lock.unlock();
  return {there.code->kernel(name), there.items};
}

}  // namespace outback::kernels

void outback::detail::packed_modules::add(const packed_module* first, std::size_t count) {
  const std::lock_guard lock(outback::kernels::all().mutex);
  outback::kernels::all().own.insert(outback::kernels::all().own.end(), first, first + count);
}
