// Which arguments portable kernels take. All others go to the next provider.
#pragma once

#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

#include <optional>
#include <type_traits>

#include "backend_template/portable/engine/number_type.h"

namespace outback::portable {

/// What has been seen of a call's arguments.
struct taken {
  c10::DeviceIndex device = -1;  // of the first tensor on a device of this backend
  bool all = true;               // every argument so far can be taken

  /// Looks at a tensor. Can be taken: an undefined one; a dense one without conj and neg bits and
  /// names, of at most 8 dimensions and a dtype that kernels store, on the device that portable
  /// kernels serve; and such a CPU tensor without dimensions.
  void look(const at::Tensor& tensor);
};

template <class Argument>
void look_at(taken& so_far, const Argument& argument) {
  if constexpr (std::is_same_v<Argument, at::Tensor>) {
    so_far.look(argument);
  } else if constexpr (std::is_same_v<Argument, std::optional<at::Tensor>>) {
    if (argument) so_far.look(*argument);
  } else if constexpr (std::is_same_v<Argument, at::TensorList> ||
                       std::is_same_v<Argument, at::ITensorListRef>) {
    for (const at::Tensor& tensor : argument) so_far.look(tensor);
  } else if constexpr (std::is_same_v<Argument, c10::Scalar>) {
    so_far.all &= !argument.isComplex();
  } else if constexpr (std::is_same_v<Argument, std::optional<c10::Scalar>>) {
    so_far.all &= !argument || !argument->isComplex();
  } else if constexpr (std::is_same_v<Argument, std::optional<c10::ScalarType>>) {
    // The requested dtype of the result.
    so_far.all &= !argument || is_storable(*argument);
  }
}

/// Returns true if portable kernels may serve a call with these arguments: at least one tensor is
/// on a device that they serve, and all can be taken.
template <class... Arguments>
bool takes(const Arguments&... arguments) {
  taken so_far;
  (look_at(so_far, arguments), ...);
  return so_far.all && so_far.device >= 0;
}

}  // namespace outback::portable
