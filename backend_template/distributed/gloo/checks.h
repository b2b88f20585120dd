// What Gloo cannot do, refused before anything is sent: it would notice in a thread of its own,
// when other processes are at it.
#pragma once

#include "backend_template/distributed/collective.h"

namespace outback::distributed {

/// Throws c10::ValueError for a reduction that Gloo does not have, of this dtype or at all, and for
/// rows that it could not exchange.
void check_for_gloo(const collective& wanted);

}  // namespace outback::distributed
