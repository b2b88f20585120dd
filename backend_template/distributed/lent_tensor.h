// A tensor as a transport of torch's takes it, over memory that is lent to it.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/Storage.h>

#include "backend_template/distributed/collective.h"

namespace outback::distributed {

/// How the transport sees a tensor's elements.
enum class elements {
  moved,    // as bytes where the transport does not have the dtype
  reduced,  // complex ones as two real ones
  rows      // as `moved`, in two dimensions: the first one and all others
};

/// Returns how the tensors of an operation are seen.
elements elements_of(const collective& wanted);

/// Returns a plain tensor of the device that `key` and `memory` are of, with the elements of
/// `like`, which lie close together, in the order of their memory: in one dimension, or as `as`
/// says. It has a version counter of its own: the transport's threads may run torch's copy_ on it,
/// which the counter of the device's tensor must not see.
at::Tensor lent_tensor(const at::Tensor& like, c10::DataPtr memory, c10::DispatchKey key,
                       elements as, bool has_dtype);

}  // namespace outback::distributed
