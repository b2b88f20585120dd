// Turns the driver's results (cl_int) into texts and into the exceptions of a runtime. "Throws like
// `check`" in a comment of this folder means the functions below.
#pragma once

#include <string>
#include <vector>

#include "backend_template/runtimes/opencl/driver_api.hpp"

namespace outback::opencl {

/// Returns the name and the number, as in "CL_OUT_OF_RESOURCES (-5)"; only the number if the result
/// has no known name.
std::string result_name(cl_int result);

/// Throws outback::runtime_error for `result`, which `call` returned. The status is
/// OUTBACK_OUT_OF_MEMORY if memory of the device or host is short. The text is for example "<call>:
/// CL_OUT_OF_HOST_MEMORY (-6)".
[[noreturn]] void throw_result(cl_int result, const char* call);

/// Throws like `throw_result` unless `result` is a success. `call` is the name of the driver's
/// function.
inline void check(cl_int result, const char* call) {
  if (result != CL_SUCCESS) [[unlikely]]
    throw_result(result, call);
}

/// Calls a function of the driver that returns a result, and throws like `check`.
template <class F, class... Arguments>
void call(const library_function<F>& function, Arguments... arguments) {
  check(function(arguments...), function.name);
}
/// Calls a function of the driver that returns an object and writes its result through its last
/// parameter, which `arguments` does not have. Throws like `check`.
template <class F, class... Arguments>
auto make(const library_function<F>& function, Arguments... arguments) {
  cl_int result = CL_SUCCESS;
  const auto made = function(arguments..., &result);
  check(result, function.name);
  return made;
}

/// Returns a fact of fixed size that `function` writes about `object`. Throws like `check`.
template <class T, class F, class Object>
T fact(const library_function<F>& function, Object object, cl_uint name) {
  T value = {};
  call(function, object, name, sizeof(value), static_cast<void*>(&value),
       static_cast<std::size_t*>(nullptr));
  return value;
}
/// Does the same for a fact that not every driver has: returns `otherwise` if the driver refuses.
template <class T, class F, class Object>
T fact_or(const library_function<F>& function, Object object, cl_uint name, T otherwise) {
  T value = {};
  const cl_int result = function(object, name, sizeof(value), &value, nullptr);
  return result == CL_SUCCESS ? value : otherwise;
}
/// Returns a fact that is a list or a text, without the null characters at its end. Throws like
/// `check`.
template <class F, class... Object>
std::string text_fact(const library_function<F>& function, cl_uint name, Object... object) {
  std::size_t size = 0;
  call(function, object..., name, std::size_t{0}, static_cast<void*>(nullptr), &size);
  std::string text(size, '\0');
  if (size != 0) {
    call(function, object..., name, size, static_cast<void*>(text.data()),
         static_cast<std::size_t*>(nullptr));
  }
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

}  // namespace outback::opencl
