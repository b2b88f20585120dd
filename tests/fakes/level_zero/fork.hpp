// A forked child has the memory of its parent and none of its threads.
#pragma once

namespace outback::software_ze {

/// To be called by the process that initialises the driver, before it has threads of the driver.
/// Again is nothing.
void watch_forks();

/// Whether this process was forked from one that had initialised the driver. Cheap.
bool forked_since_init() noexcept;

}  // namespace outback::software_ze
