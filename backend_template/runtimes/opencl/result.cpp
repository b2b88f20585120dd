#include "backend_template/runtimes/opencl/result.hpp"

#include <algorithm>
#include <array>

#include "outback/runtime_error.hpp"

namespace outback::opencl {
namespace {

struct known_result {
  cl_int value;
  outback_status status;
  const char* name;
};

// Those that the functions return which this runtime calls. OUTBACK_INTERNAL is a mistake of this
// runtime, or something that the driver does not explain.
constexpr auto known_results = std::to_array<known_result>({
    {-1, OUTBACK_INTERNAL, "CL_DEVICE_NOT_FOUND"},
    {-2, OUTBACK_INTERNAL, "CL_DEVICE_NOT_AVAILABLE"},
    {-3, OUTBACK_UNSUPPORTED, "CL_COMPILER_NOT_AVAILABLE"},
    {-4, OUTBACK_OUT_OF_MEMORY, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {-5, OUTBACK_OUT_OF_MEMORY, "CL_OUT_OF_RESOURCES"},
    {-6, OUTBACK_OUT_OF_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
    {-7, OUTBACK_UNSUPPORTED, "CL_PROFILING_INFO_NOT_AVAILABLE"},
    {-8, OUTBACK_INVALID_ARGUMENT, "CL_MEM_COPY_OVERLAP"},
    {-11, OUTBACK_INVALID_ARGUMENT, "CL_BUILD_PROGRAM_FAILURE"},
    {-14, OUTBACK_INTERNAL, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    {-30, OUTBACK_INVALID_ARGUMENT, "CL_INVALID_VALUE"},
    {-33, OUTBACK_INTERNAL, "CL_INVALID_DEVICE"},
    {-34, OUTBACK_INTERNAL, "CL_INVALID_CONTEXT"},
    {-35, OUTBACK_INVALID_ARGUMENT, "CL_INVALID_QUEUE_PROPERTIES"},
    {-36, OUTBACK_INVALID_ARGUMENT, "CL_INVALID_COMMAND_QUEUE"},
    {-42, OUTBACK_INVALID_ARGUMENT, "CL_INVALID_BINARY"},
    {-43, OUTBACK_INTERNAL, "CL_INVALID_BUILD_OPTIONS"},
    {-44, OUTBACK_INTERNAL, "CL_INVALID_PROGRAM"},
    {-45, OUTBACK_INVALID_ARGUMENT, "CL_INVALID_PROGRAM_EXECUTABLE"},
    {-46, OUTBACK_INVALID_ARGUMENT, "CL_INVALID_KERNEL_NAME"},
    {-47, OUTBACK_INVALID_ARGUMENT, "CL_INVALID_KERNEL_DEFINITION"},
    {-48, OUTBACK_INTERNAL, "CL_INVALID_KERNEL"},
    {-49, OUTBACK_INVALID_ARGUMENT, "CL_INVALID_ARG_INDEX"},
    {-50, OUTBACK_INVALID_ARGUMENT, "CL_INVALID_ARG_VALUE"},
    {-51, OUTBACK_INVALID_ARGUMENT, "CL_INVALID_ARG_SIZE"},
    {-52, OUTBACK_INVALID_ARGUMENT, "CL_INVALID_KERNEL_ARGS"},
    {-53, OUTBACK_INVALID_ARGUMENT, "CL_INVALID_WORK_DIMENSION"},
    {-54, OUTBACK_INVALID_ARGUMENT, "CL_INVALID_WORK_GROUP_SIZE"},
    {-55, OUTBACK_INVALID_ARGUMENT, "CL_INVALID_WORK_ITEM_SIZE"},
    {-56, OUTBACK_INVALID_ARGUMENT, "CL_INVALID_GLOBAL_OFFSET"},
    {-57, OUTBACK_INTERNAL, "CL_INVALID_EVENT_WAIT_LIST"},
    {-58, OUTBACK_INTERNAL, "CL_INVALID_EVENT"},
    {-59, OUTBACK_UNSUPPORTED, "CL_INVALID_OPERATION"},
    {-61, OUTBACK_OUT_OF_MEMORY, "CL_INVALID_BUFFER_SIZE"},
    {-63, OUTBACK_INVALID_ARGUMENT, "CL_INVALID_GLOBAL_WORK_SIZE"},
    {-1001, OUTBACK_UNSUPPORTED, "CL_PLATFORM_NOT_FOUND_KHR"},
});

const known_result* find(cl_int result) {
  const auto found = std::find_if(known_results.begin(), known_results.end(),
                                  [&](const known_result& each) { return each.value == result; });
  return found != known_results.end() ? &*found : nullptr;
}

}  // namespace

std::string result_name(cl_int result) {
  const std::string number = std::to_string(result);
  const known_result* const known = find(result);
  return known != nullptr ? std::string(known->name) + " (" + number + ")" : "the result " + number;
}

void throw_result(cl_int result, const char* call) {
  const known_result* const known = find(result);
  throw runtime_error(known != nullptr ? known->status : OUTBACK_INTERNAL,
                      std::string(call) + ": " + result_name(result));
}

}  // namespace outback::opencl
