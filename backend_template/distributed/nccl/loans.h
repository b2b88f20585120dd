// The tensors of one operation as NCCL takes them: tensors of the twin over the same memory.
// Nothing is copied, and nobody waits: both devices have the same current stream.
#pragma once

#include "backend_template/distributed/collective.h"

namespace outback::distributed {

/// Returns the tensors of `wanted`, which are on a device with a twin, and the reduction, with its
/// factor lent too if that is a tensor of ours. They keep the memory alive.
lent_arguments lend_to_twin(const collective& wanted);

}  // namespace outback::distributed
