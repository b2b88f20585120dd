// The tensors of one operation in the form that NCCL takes: tensors of the twin over the same
// memory. This needs no copy and no wait, since both devices have the same current stream.
#pragma once

#include "backend_template/distributed/collective.h"

namespace outback::distributed {

/// Returns the tensors of `wanted`, which are on a device with a twin, and the reduction; if its
/// factor is a tensor of this backend, the factor is lent too. The lent tensors keep the memory
/// alive.
lent_arguments lend_to_twin(const collective& wanted);

}  // namespace outback::distributed
