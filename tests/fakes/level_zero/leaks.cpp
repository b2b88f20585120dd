#include "tests/fakes/level_zero/leaks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "tests/fakes/level_zero/entry_points.hpp"
#include "tests/fakes/level_zero/fork.hpp"
#include "tests/fakes/level_zero/violations.hpp"
#include "tests/fakes/level_zero/world.hpp"

namespace outback::software_ze {
namespace {

struct kind {
  std::string_view name;
  uint64_t (*count)(world&);
};

template <ze_memory_type_t type>
uint64_t count_memory(world& all) {
  const auto given = all.memory.all();
  return static_cast<uint64_t>(std::count_if(given.begin(), given.end(), [](const auto& one) {
    return one->type == type && !one->imported;
  }));
}

uint64_t count_imported(world& all) {
  const auto given = all.memory.all();
  return static_cast<uint64_t>(
      std::count_if(given.begin(), given.end(), [](const auto& one) { return one->imported; }));
}

constexpr std::array kinds{
    kind{"context", [](world& all) -> uint64_t { return all.contexts.size(); }},
    kind{"command queue", [](world& all) -> uint64_t { return all.queues.size(); }},
    kind{"command list", [](world& all) -> uint64_t { return all.lists.size(); }},
    kind{"fence", [](world& all) -> uint64_t { return all.fences.size(); }},
    kind{"event pool", [](world& all) -> uint64_t { return all.pools.size(); }},
    kind{"event", [](world& all) -> uint64_t { return all.events.size(); }},
    kind{"module", [](world& all) -> uint64_t { return all.modules.size(); }},
    kind{"build log", [](world& all) -> uint64_t { return all.build_logs.size(); }},
    kind{"kernel", [](world& all) -> uint64_t { return all.kernels.size(); }},
    kind{"device memory", count_memory<ZE_MEMORY_TYPE_DEVICE>},
    kind{"host memory", count_memory<ZE_MEMORY_TYPE_HOST>},
    kind{"shared memory", count_memory<ZE_MEMORY_TYPE_SHARED>},
    kind{"imported memory", count_imported}};

const kind* find_kind(std::string_view name) {
  const auto found =
      std::find_if(kinds.begin(), kinds.end(), [&](const kind& one) { return one.name == name; });
  return found == kinds.end() ? nullptr : &*found;
}

// When the process ends, after the destructors of the program: the library cannot be unloaded
// earlier.
[[gnu::destructor]] void report_leaks() {
  world* all = world_if_made();
  if (!all || forked_since_init()) return;
  // Intel's driver crashes then, or does not, as the moment has it.
  if (calls_in_progress() != 0) {
    report_violation(
        fmt::format("{} threads are in the driver while it is taken down", calls_in_progress()));
  }
  for (const kind& one : kinds) {
    const auto& asked = all->options.leaks;
    if (!asked.contains("1") && !asked.contains(one.name)) continue;
    if (const uint64_t left = one.count(*all)) {
      report_violation(fmt::format("leak: {} {}{} at exit", left, one.name,
                                   left == 1 || one.name.ends_with("memory") ? "" : "s"));
    }
  }
}

}  // namespace

std::optional<uint64_t> count_live(std::string_view name) {
  const kind* found = find_kind(name);
  if (!found) return std::nullopt;
  world* all = world_if_made();
  return all ? found->count(*all) : 0;
}

void check_leak_kinds(const std::set<std::string, std::less<>>& asked) {
  for (const std::string& name : asked) {
    if (name == "1" || find_kind(name)) continue;
    std::string known;
    for (const kind& one : kinds) known += fmt::format(", {}", one.name);
    throw std::invalid_argument(fmt::format("OUTBACK_ZE_LEAKS={}: expected 0, 1{}", name, known));
  }
}

}  // namespace outback::software_ze
