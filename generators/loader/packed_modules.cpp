// The packed kernels of a backend's package, which are in its runtime's library: without torch, so
// that one file serves all releases. The loader asks for them by the function's name.
#include <cstddef>
#include <vector>

#include "outback/packed_module.h"

namespace outback::detail {
namespace {

// Filled while the library is loaded. The order of static initializers is open, so the first one
// makes it.
std::vector<packed_module>& all() {
  static std::vector<packed_module>& made = *new std::vector<packed_module>;
  return made;
}

}  // namespace

void packed_modules::add(const packed_module* first, std::size_t count) {
  all().insert(all().end(), first, first + count);
}

}  // namespace outback::detail

// outback_add_backend() defines the name: acme_packed_kernels.
extern "C" __attribute__((visibility("default"))) const outback::packed_module*
OUTBACK_PACKED_KERNELS(std::size_t* count) {
  *count = outback::detail::all().size();
  return outback::detail::all().data();
}
