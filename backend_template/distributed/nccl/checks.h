// Before anything is sent, refuses operations that NCCL cannot do.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "backend_template/distributed/collective.h"

namespace outback::distributed {

/// Returns the twin of `device`, the CUDA device for which NCCL communicates. `device` belongs to
/// this backend. Throws c10::ValueError (ValueError) if `device` has no twin; the text names the
/// operation unless `what` is null.
c10::Device checked_twin(c10::Device device, const operation* what = nullptr);

/// Throws c10::NotImplementedError (NotImplementedError) for an operation that NCCL does not have,
/// and c10::ValueError for a reduction that NCCL does not have, at all or for this dtype.
void check_for_nccl(const collective& wanted);

/// Returns true if NCCL has the dtype. If not, operations that only move elements lend them as
/// bytes.
bool nccl_has_dtype(c10::ScalarType dtype);

/// Throw what `check_for_nccl` throws.
[[noreturn]] void refuse_absent(const operation& what, const char* advice);
[[noreturn]] void refuse_cpu(const operation& what);

}  // namespace outback::distributed
