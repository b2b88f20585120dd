// Entry points: the way from the runtime to functions of the driver.
#include <string_view>

#include "tests/fakes/cudart/driver.hpp"

using namespace fake_cuda;

namespace {

void find(call& c, const char* symbol, void** address, unsigned version, unsigned long long flags,
          cudaDriverEntryPointQueryResult* status) {
  require(symbol != nullptr && address != nullptr, "a null pointer");
  require(flags <= cudaEnablePerThreadDefaultStream, "flags that there are not");
  require(int(version) <= c.m.given.driver_version, "a version after the driver's");
  *address = nullptr;
  auto found = cudaDriverEntryPointSymbolNotFound;
  unsigned best = 0;
  for (const driver::function& each : driver::functions()) {
    if (std::string_view(each.name) != symbol) continue;
    if (each.since > version) {
      if (*address == nullptr) found = cudaDriverEntryPointVersionNotSufficent;
    } else if (each.since >= best) {
      best = each.since;
      *address = each.address;
      found = cudaDriverEntryPointSuccess;
    }
  }
  if (status != nullptr) *status = found;
}

}  // namespace

// Neither calls cuInit, as far as is documented; so here whoever relies on it meets
// CUDA_ERROR_NOT_INITIALIZED.
cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** address, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
  return enter(__func__, entry::free_of_driver, [&](call& c) {
    if (c.m.given.init_error == cudaErrorInsufficientDriver) {
      throw failure(cudaErrorInsufficientDriver);
    }
    find(c, symbol, address, FAKE_CUDART_MAJOR == 12 ? 12080 : 13000, flags, status);
  });
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** address, unsigned version,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* status) {
  return enter(__func__, entry::free_of_driver, [&](call& c) {
    if (c.m.given.init_error == cudaErrorInsufficientDriver) {
      throw failure(cudaErrorInsufficientDriver);
    }
    find(c, symbol, address, version, flags, status);
  });
}
