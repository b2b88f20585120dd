// A function of a library that is opened at run time, together with its name for error texts. The
// tables of libcudart, CUDA's driver, NVML and the Level Zero loader are made of it.
#pragma once

#include <dlfcn.h>

#include <string>

namespace outback {

template <class F>
struct library_function;

/// A function pointer that is null until it was looked up. Calling a null one is undefined;
/// operator bool tells whether there is one. A call costs what the function costs.
template <class R, class... Arguments>
struct library_function<R(Arguments...)> {
  const char* name;  // as the library exports it; a string literal
  R (*function)(Arguments...) = nullptr;

  explicit operator bool() const noexcept { return function != nullptr; }
  R operator()(Arguments... arguments) const { return function(arguments...); }
  void set(void* found) noexcept { function = reinterpret_cast<R (*)(Arguments...)>(found); }
};

/// Looks the function up in `library`, dlopen's handle. It is null if the library lacks it; then
/// the name is added to `missing` as "a, b", unless that is null.
template <class F>
void look_up(void* library, library_function<F>& function, std::string* missing = nullptr) {
  function.set(dlsym(library, function.name));
  if (missing == nullptr || function) return;
  *missing += (missing->empty() ? "" : ", ") + std::string(function.name);
}

}  // namespace outback
