// A function of a library that is opened at run time, together with its name for error texts. The
// tables of libcudart, CUDA's driver, NVML and the Level Zero loader consist of such functions.
#pragma once

#include <dlfcn.h>

#include <string>

namespace outback {

template <class F>
struct library_function;

/// A function pointer that is null until `look_up` has set it. operator bool tells whether it is
/// set, and calling a null pointer is undefined. A call adds no cost to the function.
template <class R, class... Arguments>
struct library_function<R(Arguments...)> {
  const char* name;  // as the library exports it; a string literal
  R (*function)(Arguments...) = nullptr;

  explicit operator bool() const noexcept { return function != nullptr; }
  R operator()(Arguments... arguments) const { return function(arguments...); }
  void set(void* found) noexcept { function = reinterpret_cast<R (*)(Arguments...)>(found); }
};

/// Looks the function up in `library`, dlopen's handle. If the library lacks the function, sets it
/// to null and adds its name to `missing`, as in "a, b", unless `missing` is null.
template <class F>
void look_up(void* library, library_function<F>& function, std::string* missing = nullptr) {
  function.set(dlsym(library, function.name));
  if (missing == nullptr || function) return;
  *missing += (missing->empty() ? "" : ", ") + std::string(function.name);
}

}  // namespace outback
