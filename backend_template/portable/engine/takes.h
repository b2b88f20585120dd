// Which arguments portable kernels take. All others go to the next provider.
#pragma once

#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "backend_template/ops/in_place/named_operator.h"
#include "backend_template/portable/engine/number_type.h"

namespace outback::portable {

/// What has been seen of a call's arguments.
struct taken {
  c10::DeviceIndex device = -1;  // of the first tensor on a device of this backend
  bool all = true;               // every argument so far can be taken
  uint64_t cpu_scalars = 0;      // bit i: argument i is a CPU tensor without dimensions
  bool reads_device = false;     // a tensor of the device is read, and not only written

  /// Looks at argument `index`, a tensor. Can be taken: an undefined one; a dense one without conj
  /// and neg bits and names, of at most 8 dimensions and a dtype that kernels store, on the device
  /// that portable kernels serve; and such a CPU tensor without dimensions.
  void look(const at::Tensor& tensor, size_t index = 64, bool is_read = true);
};

/// Looks at argument `index` of a call. `Passed` is its type in the operator's signature.
template <class Passed>
void look_at(taken& so_far, size_t index, const std::remove_cvref_t<Passed>& argument) {
  using Argument = std::remove_cvref_t<Passed>;
  if constexpr (std::is_same_v<Argument, at::Tensor>) {
    so_far.look(argument, index, !std::is_same_v<Passed, at::Tensor&>);
  } else if constexpr (std::is_same_v<Argument, std::optional<at::Tensor>>) {
    if (argument) so_far.look(*argument, index);
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

/// Returns true if portable kernels may serve a call with these tensors: at least one is on a
/// device that they serve, and all can be taken.
template <class... Arguments>
bool takes(const Arguments&... arguments) {
  taken so_far;
  (look_at<const Arguments&>(so_far, 64, arguments), ...);
  return so_far.all && so_far.device >= 0;
}

/// Returns true if operator `op` refuses the CPU tensors without dimensions among its arguments,
/// as torch.cuda's does (ops/in_place/cpu_scalars.txt), or several of them where it reads nothing
/// of the device.
bool refuses_cpu_scalars(ops::named_operator& op, const taken& seen);

}  // namespace outback::portable
