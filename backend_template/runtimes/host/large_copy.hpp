// memcpy for the copies of the host runtime, which may be large.
#pragma once

#include <cstddef>

namespace outback::host {

/// Does what memcpy does. What is larger than a core's own cache goes past it: memcpy would read
/// each line of `dst` before it overwrites it, so that half as much again moves. On the calling
/// thread; when it returns, other threads may see all of `dst`.
void copy_memory(void* dst, const void* src, std::size_t size) noexcept;

}  // namespace outback::host
