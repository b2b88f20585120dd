// Before anything is sent, refuses operations that Gloo cannot do. Gloo itself would find the error
// in its own thread, when other processes already communicate.
#pragma once

#include "backend_template/distributed/collective.h"

namespace outback::distributed {

/// Throws c10::ValueError for a reduction that Gloo does not have, at all or for this dtype, and
/// for an all_to_all_single in which this process sends itself more or less than it receives.
void check_for_gloo(const collective& wanted);

}  // namespace outback::distributed
