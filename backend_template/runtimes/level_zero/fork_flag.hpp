// Was this process forked from one that had initialised Level Zero? Then the driver believes that
// it is ready, and waits for ever for threads and contexts that only the parent has.
#pragma once

namespace outback::level_zero {

/// To be called before the driver is initialised. Again is nothing.
void watch_forks();

/// Throws outback::runtime_error, which says what to do instead, in a child of such a process.
void check_not_forked();

/// The same question. One relaxed load.
bool forked() noexcept;

}  // namespace outback::level_zero
