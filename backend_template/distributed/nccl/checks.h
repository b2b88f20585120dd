// What NCCL cannot do, refused before anything is sent.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "backend_template/distributed/collective.h"

namespace outback::distributed {

/// Returns the device of CUDA's for which NCCL communicates in place of `device`, one of ours.
/// Throws c10::ValueError (ValueError) if it has none, which names the operation if there is one.
c10::Device checked_twin(c10::Device device, const operation* what = nullptr);

/// Throws c10::NotImplementedError (NotImplementedError) for an operation that NCCL does not have,
/// and c10::ValueError for a reduction that it does not have, of this dtype or at all.
void check_for_nccl(const collective& wanted);

/// Returns true if NCCL has the dtype. What it only moves is lent as bytes if not.
bool nccl_has_dtype(c10::ScalarType dtype);

/// Throw what `check_for_nccl` throws.
[[noreturn]] void refuse_absent(const operation& what, const char* advice);
[[noreturn]] void refuse_cpu(const operation& what);

}  // namespace outback::distributed
