#include "backend_template/runtimes/cuda/errors.hpp"

namespace outback::cuda {
namespace {

// Returns what to do about an error that the machine is to blame for and not the call, or "".
// CUDA's own words for these errors do not say it.
const char* advice(int error) {
  switch (error) {
    case cudaErrorStubLibrary:
      return "libcuda.so.1 is the CUDA Toolkit's stub, which is for linking alone: take its folder "
             "out of LD_LIBRARY_PATH";
    case cudaErrorDevicesUnavailable:
      return "Another process has the device for itself, or its compute mode forbids all use: "
             "`nvidia-smi -q -d COMPUTE` tells the mode, `nvidia-smi` the processes";
    case cudaErrorSystemNotReady:
      return "A daemon that the devices need does not run yet. With NVSwitches that is the fabric "
             "manager, of the driver's own version: `systemctl status nvidia-fabricmanager`";
    case cudaErrorSystemDriverMismatch:
      return "The driver in the kernel and libcuda.so.1 are of different versions, as after an "
             "update: restart the machine, or unload and load the nvidia modules. In a container, "
             "libcuda.so.1 has to be the host's";
    case cudaErrorCompatNotSupportedOnDevice:
      return "libcuda.so.1 is of the package for forward compatibility (cuda-compat), which is for "
             "data-center devices alone: take it out of LD_LIBRARY_PATH, or install a newer driver";
    case cudaErrorUnknown:
      return "As a rule the module nvidia_uvm is not loaded, or is broken since the machine slept: "
             "`sudo modprobe -r nvidia_uvm && sudo modprobe nvidia_uvm`, or restart the machine";
    default:
      return "";
  }
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

    // The caller is to blame.
    case cudaErrorInvalidValue:
    case cudaErrorInvalidPitchValue:
    case cudaErrorInvalidHostPointer:
    case cudaErrorInvalidDevicePointer:
    case cudaErrorInvalidMemcpyDirection:
    case cudaErrorInvalidDevice:
    case cudaErrorDeviceUninitialized:  // the driver's number for "invalid context"
    case cudaErrorAlreadyMapped:
    case cudaErrorNotMapped:
    case cudaErrorInvalidResourceHandle:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorInvalidConfiguration:
    case cudaErrorLaunchOutOfResources:
    case cudaErrorInvalidKernelImage:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidPtx:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorInvalidSource:
    case cudaErrorSymbolNotFound:
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

    // This device, driver or machine cannot do it.
    case cudaErrorStubLibrary:
    case cudaErrorInsufficientDriver:
    case cudaErrorCallRequiresNewerDriver:
    case cudaErrorNoDevice:
    case cudaErrorDeviceNotLicensed:
    case cudaErrorJitCompilerNotFound:
    case cudaErrorJitCompilationDisabled:
    case cudaErrorPeerAccessUnsupported:
    case cudaErrorTooManyPeers:
    case cudaErrorNotPermitted:
    case cudaErrorNotSupported:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice:
      return OUTBACK_UNSUPPORTED;

    // The errors of which CUDA's documentation says that "the process must be terminated and
    // relaunched", and those that end a context in another way.
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
  const char* const name = cuda.cudaGetErrorName(error);
  const char* const text = cuda.cudaGetErrorString(error);
  const std::string what_to_do = advice(error);
  return std::string(name == nullptr ? "an error without a name" : name) + " (" +
         std::to_string(error) + "): " + (text == nullptr ? "no text" : text) + ", in " + call +
         (what_to_do.empty() ? "" : ". " + what_to_do);
}

void check(const cudart& cuda, cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  cuda.cudaGetLastError();
  throw runtime_error(status_of(error), describe(cuda, error, call));
}

}  // namespace outback::cuda
