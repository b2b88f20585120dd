// The environment, for the torch half: outback/detail/variables.hpp, with torch's exceptions.
#pragma once

#include <c10/util/Exception.h>

#include <utility>

#include "outback/detail/variables.hpp"

namespace outback::core {

/// What `read` answers. Where a variable cannot be read, throws c10::ValueError with the sentence.
template <class Read>
auto from_environment(Read&& read) {
  try {
    return std::forward<Read>(read)();
  } catch (const invalid_argument& error) {
    TORCH_CHECK_VALUE(false, error.what());
  }
}

}  // namespace outback::core
