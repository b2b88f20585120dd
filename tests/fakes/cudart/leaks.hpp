// What is alive, and what was left behind. With the machine's lock.
#pragma once

#include <functional>
#include <string>

#include "tests/fakes/cudart/machine.hpp"

namespace fake_cuda {

struct live_object {
  const char* kind;       // as fake_cudart_live spells it
  const char* made_by;    // the entry point
  std::string described;  // what is to be known about it
  bool* kept;
};

/// Everything of `kinds` that is alive; null or "": all kinds, else names between commas.
void for_each_live(machine& m, const char* kinds, const std::function<void(live_object)>& told);
/// On stderr; the number of objects that were not kept.
int report_leaks(machine& m, const char* kinds);

}  // namespace fake_cuda
