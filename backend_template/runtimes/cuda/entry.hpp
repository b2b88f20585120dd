// A function of a library that is opened at run time, together with its name for error texts. The
// tables of libcudart, the driver and NVML are made of it.
#pragma once

namespace outback::cuda {

template <class F>
struct entry;

/// A function pointer that is null until it was looked up. Calling a null entry is undefined;
/// operator bool tells whether there is one. A call costs what the function costs.
template <class R, class... Arguments>
struct entry<R(Arguments...)> {
  const char* name;  // as the library exports it; a string literal
  R (*function)(Arguments...) = nullptr;

  explicit operator bool() const noexcept { return function != nullptr; }
  R operator()(Arguments... arguments) const { return function(arguments...); }
};

}  // namespace outback::cuda
