// A module for the host runtime with a kernel that does nothing.
#include "outback/host_kernel.h"

namespace {

constexpr uint32_t sizes[] = {sizeof(void*), sizeof(void*), sizeof(uint32_t), sizeof(float)};

int32_t nothing(const outback_host_groups*) {
  return 0;
}

}  // namespace

extern "C" const outback_host_kernel outback_kernel_nothing = {
    sizeof(outback_host_kernel), 4, sizes, 0, 0, &nothing, nullptr};
