#include "tests/runtime/suite/programs/shrink.hpp"

#include <algorithm>

#include "tests/runtime/suite/programs/model.hpp"

namespace outback::suite {

program shrink(const program& failing, const std::function<bool(const program&)>& fails,
               std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  program best = failing;
  for (std::size_t chunk = std::max<std::size_t>(best.operations.size() / 2, 1);;) {
    bool shorter = false;
    for (std::size_t first = 0; first < best.operations.size();) {
      if (std::chrono::steady_clock::now() > end) return best;
      std::vector<operation> rest = best.operations;
      const auto begin = rest.begin() + std::ptrdiff_t(first);
      rest.erase(begin, begin + std::ptrdiff_t(std::min(chunk, rest.size() - first)));
      program candidate = best;
      candidate.operations = legal_part(best.on, rest);
      if (fails(candidate)) {
        best = candidate;
        shorter = true;
      } else {
        first += chunk;
      }
    }
    if (chunk == 1 && !shorter) return best;
    chunk = std::max<std::size_t>(chunk / 2, 1);
  }
}

}  // namespace outback::suite
