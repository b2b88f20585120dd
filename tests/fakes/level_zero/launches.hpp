// The launches that the devices have come to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace outback::software_ze {

/// May be called from any thread. The first 1000 texts are kept.
void record_launch(std::string text);
uint64_t launch_count();
/// "" beyond the last.
std::string launch_text(std::size_t index);

}  // namespace outback::software_ze
