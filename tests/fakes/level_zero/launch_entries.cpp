// zeCommandListAppendLaunchKernel. Arguments and group size are read by the append; what they point
// to is read and written when the device comes to it.
#include <fmt/format.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tests/fakes/level_zero/appending.hpp"
#include "tests/fakes/level_zero/entry_points.hpp"
#include "tests/fakes/level_zero/launches.hpp"
#include "tests/fakes/level_zero/module.hpp"
#include "tests/fakes/level_zero/serve.hpp"
#include "tests/fakes/level_zero/turn.hpp"
#include "tests/fakes/level_zero/violations.hpp"
#include "tests/fakes/level_zero/world.hpp"

namespace outback::software_ze {
namespace launch_entries {

using kind = spirv_parameter::kind;

std::string text_of(const kernel_argument& value) {
  if (value.bytes.empty()) return fmt::format("local {}", value.local_size);
  std::string text;
  for (const std::byte each : value.bytes)
    text += fmt::format("{:02x}", std::to_integer<int>(each));
  return text;
}

// Pointers become those where this process finds the bytes.
prepared_argument prepare(appending& what, const module& of, kind is,
                          const kernel_argument& value) {
  if (is == kind::local) return local_memory{value.local_size};
  if (is == kind::value) return value.bytes;
  void* pointer = nullptr;
  std::memcpy(&pointer, value.bytes.data(), sizeof pointer);
  if (!pointer) return nullptr;
  void* const bytes = what.use(pointer, 1);
  const auto held = the_world().memory.find(pointer);
  if (held && held->size > UINT32_MAX && !of.large_memory) {
    refuse_violation(fmt::format("an allocation of {} bytes takes the build option {}", held->size,
                                 large_memory_option));
  }
  return bytes;
}

ze_result_t launch(ze_command_list_handle_t list, ze_kernel_handle_t handle,
                   const ze_group_count_t* groups, ze_event_handle_t signals, uint32_t wait_count,
                   ze_event_handle_t* waits) {
  const auto found = the_world().kernels.find(handle);
  require_pointer(groups);
  const turn mine(found->taken, kernel::noun);
  appending what(list, signals, wait_count, waits);
  if (found->of->on != what.list().on) refuse_violation("the kernel is another device's");
  std::string text = fmt::format("{}: groups {} {} {}, items {} {} {}", found->name,
                                 groups->groupCountX, groups->groupCountY, groups->groupCountZ,
                                 found->group[0], found->group[1], found->group[2]);
  prepared_launch prepared{found->name,
                           {groups->groupCountX, groups->groupCountY, groups->groupCountZ},
                           found->group,
                           {}};
  for (std::size_t i = 0; i < found->arguments.size(); ++i) {
    const auto& value = found->arguments[i];
    if (!value) refuse_violation(fmt::format("argument {} of {} was never set", i, found->name));
    prepared.arguments.push_back(
        prepare(what, *found->of, found->entry_point.parameters[i].is, *value));
    text += ", " + text_of(*value);
  }
  what.run(found);
  return what.finish(
      [code = found->of->executable, prepared = std::move(prepared), text = std::move(text)] {
        record_launch(text);
        const std::string problem = code ? code->run(prepared) : "";
        if (!problem.empty()) report_violation(fmt::format("{}: {}", prepared.kernel, problem));
      });
}

}  // namespace launch_entries

void serve_launches(ze_command_list_dditable_t* table) {
  using namespace launch_entries;
  serve<"zeCommandListAppendLaunchKernel", launch>(table->pfnAppendLaunchKernel);
}

}  // namespace outback::software_ze
