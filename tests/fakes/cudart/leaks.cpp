#include "tests/fakes/cudart/leaks.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace fake_cuda {
namespace {

constexpr int exit_status_of_leaks = 99;

const char* kind_of(const block& given) {
  switch (given.kind) {
    case block_kind::device:
      return "memory";
    case block_kind::pinned:
      return "pinned";
    case block_kind::registered:
      return "registrations";
    case block_kind::imported:
      return "imports";
  }
  return "";
}

// At the end of a process that FAKE_CUDART_LEAKS asks for it: with leaks or misuse it ends as one
// that failed. After every atexit function of the program, which may free some.
[[gnu::destructor]] void report_at_exit() {
  machine* const m = machine_if_made();
  if (m == nullptr || !m->given.leaks) return;
  const std::lock_guard lock(m->mutex);
  if (m->forked) return;
  const std::string kinds = *m->given.leaks == "1" ? "" : *m->given.leaks;
  const int leaks = report_leaks(*m, kinds.c_str());
  const int misuses = m->violations.remembered();
  if (leaks == 0 && misuses == 0) return;
  std::fprintf(stderr, "fake cuda: %d leaks and %d misuses\n", leaks, misuses);
  std::fflush(nullptr);
  _exit(exit_status_of_leaks);
}

}  // namespace

void for_each_live(machine& m, const char* kinds, const std::function<void(live_object)>& told) {
  const auto wanted = split(kinds == nullptr ? "" : kinds);
  const auto tell = [&](live_object found) {
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), found.kind) != wanted.end()) {
      told(std::move(found));
    }
  };
  for (const auto& [begin, each] : m.blocks.all()) {
    tell({.kind = kind_of(*each),
          .made_by = each->made_by,
          .described = fmt::format("{} bytes at {:#x}, device {}", each->size, begin, each->device),
          .kept = &each->kept});
  }
  const auto table = [&](const char* kind, const auto& objects) {
    for (const auto& [handle, each] : objects.all()) {
      tell({.kind = kind,
            .made_by = each->made_by,
            .described = fmt::format("handle {:#x}", handle),
            .kept = &each->kept});
    }
  };
  table("streams", m.streams);
  table("events", m.events);
  table("graphs", m.graphs);
  table("execs", m.execs);
}

int report_leaks(machine& m, const char* kinds) {
  int count = 0;
  for_each_live(m, kinds, [&](const live_object& each) {
    if (*each.kept) return;
    ++count;
    std::fprintf(stderr, "fake cuda: leak: %s: %s, made by %s\n", each.kind, each.described.c_str(),
                 each.made_by);
  });
  return count;
}

}  // namespace fake_cuda
