// The refusal in a forked child, which has none of its parent's threads.
#pragma once

#include <cstdint>

namespace outback::host {

/// Throws outback::runtime_error, saying what to do instead, if fork_count() is no longer `then`.
void check_not_forked(uint32_t then);

}  // namespace outback::host
