#include "backend_template/runtimes/opencl/options.hpp"

#include <utility>

#include "outback/detail/variables.hpp"

namespace outback::opencl {

opencl_options options_from_environment() {
  opencl_options options;
  if (auto loader = detail::library_variable("OUTBACK_OPENCL_LOADER")) {
    options.loader = std::move(*loader);
  }
  return options;
}

}  // namespace outback::opencl
