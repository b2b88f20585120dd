#include "backend_template/runtimes/cuda/errors.hpp"

namespace outback::cuda {
namespace {

std::string described(const char* name, int error, const char* text, const char* call) {
  return std::string(name == nullptr ? "an error without a name" : name) + " (" +
         std::to_string(error) + "): " + (text == nullptr ? "no text" : text) + ", in " + call;
}

}  // namespace

outback_status status_of(int error) noexcept {
  switch (error) {
    case cudaSuccess:
      return OUTBACK_OK;
    case cudaErrorNotReady:
      return OUTBACK_NOT_READY;

    case cudaErrorMemoryAllocation:
      return OUTBACK_OUT_OF_MEMORY;

    case cudaErrorInvalidValue:
    case cudaErrorInvalidPitchValue:
    case cudaErrorInvalidHostPointer:
    case cudaErrorInvalidDevicePointer:
    case cudaErrorInvalidMemcpyDirection:
    case cudaErrorInvalidDevice:
    case cudaErrorDeviceUninitialized:  // the driver's "invalid context"
    case cudaErrorAlreadyMapped:
    case cudaErrorNotMapped:
    case cudaErrorInvalidResourceHandle:
    case cudaErrorIllegalState:
    case cudaErrorSetOnActiveProcess:
    case cudaErrorHostMemoryAlreadyRegistered:
    case cudaErrorHostMemoryNotRegistered:
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated:
    case cudaErrorStreamCaptureMerge:
    case cudaErrorStreamCaptureUnmatched:
    case cudaErrorStreamCaptureUnjoined:
    case cudaErrorStreamCaptureIsolation:
    case cudaErrorStreamCaptureImplicit:
    case cudaErrorCapturedEvent:
    case cudaErrorStreamCaptureWrongThread:
      return OUTBACK_INVALID_ARGUMENT;

    case cudaErrorStubLibrary:
    case cudaErrorInsufficientDriver:
    case cudaErrorCallRequiresNewerDriver:
    case cudaErrorNoDevice:
    case cudaErrorDeviceNotLicensed:
    case cudaErrorPeerAccessUnsupported:
    case cudaErrorTooManyPeers:
    case cudaErrorNotPermitted:
    case cudaErrorNotSupported:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice:
      return OUTBACK_UNSUPPORTED;

    // Those of which CUDA says "the process must be terminated and relaunched", and those that end
    // a context in another way.
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorMpsClientTerminated:
    case cudaErrorExternalDevice:
      return OUTBACK_DEVICE_LOST;

    default:
      return OUTBACK_INTERNAL;
  }
}

std::string describe(const cudart& cuda, cudaError_t error, const char* call) {
  return described(cuda.cudaGetErrorName(error), error, cuda.cudaGetErrorString(error), call);
}

std::string describe(const driver& driver, CUresult error, const char* call) {
  const char *name = nullptr, *text = nullptr;
  driver.cuGetErrorName(error, &name);
  driver.cuGetErrorString(error, &text);
  return described(name, error, text, call);
}

void check(const cudart& cuda, cudaError_t error, const char* call, const std::string& details) {
  if (error == cudaSuccess) return;
  cuda.cudaGetLastError();
  throw runtime_error(status_of(error), describe(cuda, error, call) + details);
}

}  // namespace outback::cuda
