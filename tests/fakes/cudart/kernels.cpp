#include "tests/fakes/cudart/kernels.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "tests/fakes/cudart/fat_binary.hpp"

namespace fake_cuda {

std::vector<parameter> place_parameters(const std::vector<std::size_t>& sizes) {
  std::vector<parameter> placed;
  std::size_t end = 0;
  for (const std::size_t size : sizes) {
    const std::size_t alignment = std::min(size & -size, std::size_t{16});
    if (alignment > 0) end = (end + alignment - 1) / alignment * alignment;
    placed.push_back({.offset = end, .size = size});
    end += size;
  }
  return placed;
}

const std::string& kernel::name() const {
  if (name_.empty()) {
    int status = 0;
    char* const readable = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
    name_ = status == 0 ? readable : symbol;
    std::free(readable);
  }
  return name_;
}

const std::optional<std::vector<parameter>>& kernel::parameters() const {
  if (!std::exchange(asked_, true)) parameters_ = parameters_in(fat_binary, symbol);
  return parameters_;
}

void kernel::set_parameters(std::vector<parameter> given) {
  asked_ = true;
  parameters_ = std::move(given);
}

kernel& kernel_table::add(const void* host) {
  kernel* const added = new kernel;
  added->host = host;
  kernels_[host] = added;
  return *added;
}

kernel* kernel_table::find(const void* host) const {
  const auto found = kernels_.find(host);
  return found == kernels_.end() ? nullptr : found->second;
}

}  // namespace fake_cuda
