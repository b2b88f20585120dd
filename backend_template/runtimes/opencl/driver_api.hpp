// The functions of the OpenCL loader, found at run time: nothing here links OpenCL.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <string>

#include "backend_template/runtimes/library_function.hpp"

namespace outback::opencl {

// Every loader of version 2.0 has these.
#define OUTBACK_CL_REQUIRED(X)                \
  X(clGetPlatformIDs)                         \
  X(clGetExtensionFunctionAddressForPlatform) \
  X(clGetDeviceIDs)                           \
  X(clGetDeviceInfo)                          \
  X(clCreateContext)                          \
  X(clCreateCommandQueueWithProperties)       \
  X(clRetainCommandQueue)                     \
  X(clReleaseCommandQueue)                    \
  X(clGetCommandQueueInfo)                    \
  X(clFlush)                                  \
  X(clSVMAlloc)                               \
  X(clSVMFree)                                \
  X(clEnqueueSVMMemcpy)                       \
  X(clEnqueueSVMMemFill)                      \
  X(clEnqueueMarkerWithWaitList)              \
  X(clEnqueueBarrierWithWaitList)             \
  X(clCreateUserEvent)                        \
  X(clSetUserEventStatus)                     \
  X(clSetEventCallback)                       \
  X(clRetainEvent)                            \
  X(clReleaseEvent)                           \
  X(clWaitForEvents)                          \
  X(clGetEventInfo)                           \
  X(clGetEventProfilingInfo)                  \
  X(clCreateProgramWithSource)                \
  X(clBuildProgram)                           \
  X(clGetProgramBuildInfo)                    \
  X(clGetProgramInfo)                         \
  X(clReleaseProgram)                         \
  X(clCreateKernel)                           \
  X(clReleaseKernel)                          \
  X(clGetKernelInfo)                          \
  X(clGetKernelArgInfo)                       \
  X(clGetKernelWorkGroupInfo)                 \
  X(clSetKernelArg)                           \
  X(clSetKernelArgSVMPointer)                 \
  X(clSetKernelExecInfo)                      \
  X(clEnqueueNDRangeKernel)

// Functions of version 2.1. A function is null if the loader lacks it.
#define OUTBACK_CL_OPTIONAL(X) \
  X(clCreateProgramWithIL)     \
  X(clGetDeviceAndHostTimer)

/// The functions. Each member has the name of the function that it points to.
struct driver_api {
#define OUTBACK_CL_MEMBER(name) library_function<decltype(::name)> name{#name};
  OUTBACK_CL_REQUIRED(OUTBACK_CL_MEMBER)
  OUTBACK_CL_OPTIONAL(OUTBACK_CL_MEMBER)
#undef OUTBACK_CL_MEMBER
};

/// Opens `library` and fills `api`. Returns "", or the problem: the library cannot be opened, or
/// lacks a required function. Never closes the library.
std::string load(const std::string& library, driver_api& api);

}  // namespace outback::opencl
