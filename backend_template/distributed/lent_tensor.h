// Makes tensors over lent memory, in the form that a c10d::Backend of torch takes.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/Storage.h>

#include "backend_template/distributed/collective.h"

namespace outback::distributed {

/// How the transport sees a tensor.
struct form {
  enum class elements {
    moved,   // as bytes if the transport does not have the dtype
    reduced  // a complex element as two real ones
  } are;
  enum class shape {
    flat,  // all elements in one dimension
    rows,  // in two dimensions: the first one and all others
    whole  // the tensor's own, which the transport compares; the parts of an element come last
  } shaped;
};

/// Returns how the transport sees the tensors of an operation.
form form_of(const collective& wanted);

/// Returns a plain tensor over `memory`, whose device type must match `key`. The tensor has the
/// elements of `like`, which must have no gaps, in memory order, and the form `as`.
/// It has its own version counter, since the transport's threads may run torch's copy_ on it, which
/// must not raise the version of the device's tensor.
at::Tensor lent_tensor(const at::Tensor& like, c10::DataPtr memory, c10::DispatchKey key, form as,
                       bool has_dtype);

}  // namespace outback::distributed
