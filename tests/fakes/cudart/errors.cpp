#include "tests/fakes/cudart/errors.hpp"

namespace fake_cuda {
namespace {

struct description {
  int error;
  const char *runtime, *driver, *text;
};

constexpr description descriptions[] = {
#define FAKE_CUDA_ERROR(error, runtime, driver, text) {error, runtime, driver, text},
#include "tests/fakes/cudart/error_names.inc"
#undef FAKE_CUDA_ERROR
};

const description* find(int error) {
  for (const description& each : descriptions) {
    if (each.error == error) return &each;
  }
  return nullptr;
}

}  // namespace

// "This leaves the process in an inconsistent state and any further CUDA work will return the same
// error", says driver_types.h of each.
bool is_sticky(cudaError_t error) {
  switch (int(error)) {
    case cudaErrorECCUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorExternalDevice:
    case cudaErrorNvlinkUncorrectable:
      return true;
    default:
      return false;
  }
}

const char* runtime_name(int error) {
  const description* const found = find(error);
  return found == nullptr ? nullptr : found->runtime;
}

const char* driver_name(int error) {
  const description* const found = find(error);
  return found == nullptr ? nullptr : found->driver;
}

const char* error_text(int error) {
  const description* const found = find(error);
  return found == nullptr ? nullptr : found->text;
}

}  // namespace fake_cuda
