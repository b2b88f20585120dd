// A loader of OpenCL that is the system's, but for what the variable OUTBACK_TEST_CL_DRIVER says of
// its drivers: whoever looks for another function in this library finds the system's.
//
//   usm          has unified shared memory, which PoCL 3.1 lacks
//   no_pointers  has no memory that pointers reach
//   failing      all fills fail
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace {

bool driver_is(const char* word) {
  const char* const set = std::getenv("OUTBACK_TEST_CL_DRIVER");
  return set != nullptr && std::strcmp(set, word) == 0;
}

// The system's function that this library has too.
template <class F>
F* real(const char* name) {
  static void* const loader = dlopen("libOpenCL.so.1", RTLD_NOW);
  return reinterpret_cast<F*>(dlsym(loader, name));
}

void* device_alloc(cl_context context, cl_device_id, const cl_mem_properties_intel*, size_t size,
                   cl_uint alignment, cl_int* result) {
  void* const made =
      clSVMAlloc(context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, size, alignment);
  *result = made != nullptr ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
  return made;
}

void* host_alloc(cl_context context, const cl_mem_properties_intel* properties, size_t size,
                 cl_uint alignment, cl_int* result) {
  return device_alloc(context, nullptr, properties, size, alignment, result);
}

cl_int mem_free(cl_context context, void* ptr) {
  clSVMFree(context, ptr);
  return CL_SUCCESS;
}

cl_int set_argument(cl_kernel kernel, cl_uint index, const void* ptr) {
  return clSetKernelArgSVMPointer(kernel, index, ptr);
}

}  // namespace

extern "C" {

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info name, size_t size, void* value,
                       size_t* written) {
  const auto ask = real<decltype(clGetDeviceInfo)>("clGetDeviceInfo");
  if (name == CL_DEVICE_SVM_CAPABILITIES && !driver_is("failing")) {
    const cl_device_svm_capabilities none = 0;
    std::memcpy(value, &none, sizeof(none));
    return CL_SUCCESS;
  }
  if (name != CL_DEVICE_EXTENSIONS || !driver_is("usm")) {
    return ask(device, name, size, value, written);
  }
  size_t length = 0;
  ask(device, name, 0, nullptr, &length);
  std::string all(length, '\0');
  ask(device, name, length, all.data(), nullptr);
  all.back() = ' ';  // in place of the null
  all += "cl_intel_unified_shared_memory";
  if (written != nullptr) *written = all.size() + 1;
  if (value != nullptr) std::memcpy(value, all.c_str(), all.size() + 1);
  return CL_SUCCESS;
}

void* clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char* name) {
  const std::string given = name;
  if (given == "clDeviceMemAllocINTEL") return reinterpret_cast<void*>(&device_alloc);
  if (given == "clHostMemAllocINTEL") return reinterpret_cast<void*>(&host_alloc);
  if (given == "clMemFreeINTEL") return reinterpret_cast<void*>(&mem_free);
  if (given == "clEnqueueMemcpyINTEL") return reinterpret_cast<void*>(&clEnqueueSVMMemcpy);
  if (given == "clEnqueueMemFillINTEL") return reinterpret_cast<void*>(&clEnqueueSVMMemFill);
  if (given == "clSetKernelArgMemPointerINTEL") return reinterpret_cast<void*>(&set_argument);
  return real<decltype(clGetExtensionFunctionAddressForPlatform)>(
      "clGetExtensionFunctionAddressForPlatform")(platform, name);
}

cl_int clGetEventInfo(cl_event event, cl_event_info name, size_t size, void* value,
                      size_t* written) {
  const auto ask = real<decltype(clGetEventInfo)>("clGetEventInfo");
  const cl_int result = ask(event, name, size, value, written);
  cl_command_type type = 0;
  if (result == CL_SUCCESS && driver_is("failing") && name == CL_EVENT_COMMAND_EXECUTION_STATUS &&
      *static_cast<cl_int*>(value) == CL_COMPLETE &&
      ask(event, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, nullptr) == CL_SUCCESS &&
      type == CL_COMMAND_SVM_MEMFILL) {
    *static_cast<cl_int*>(value) = CL_OUT_OF_RESOURCES;
  }
  return result;
}

}  // extern "C"
