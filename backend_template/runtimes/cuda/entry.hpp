// A function of a library that was opened at run time, and what it is called there.
#pragma once

namespace outback::cuda {

template <class F>
struct entry;

/// Null until it was found; calling it costs what the function costs.
template <class R, class... Arguments>
struct entry<R(Arguments...)> {
  const char* name;
  R (*function)(Arguments...) = nullptr;

  explicit operator bool() const noexcept { return function != nullptr; }
  R operator()(Arguments... arguments) const { return function(arguments...); }
};

}  // namespace outback::cuda
