// A module that was compiled for the host, for tests: its kernels are as outback/host_kernel.h
// describes them.
#include <stddef.h>

#include "outback/host_kernel.h"

// scale(int* numbers, int count, int factor)
static int32_t run_scale(const outback_host_groups* groups) {
  int32_t* const numbers = *(int32_t**)groups->arguments[0];
  const int32_t count = *(const int32_t*)groups->arguments[1];
  const int32_t factor = *(const int32_t*)groups->arguments[2];
  for (uint64_t group = groups->first; group < groups->first + groups->count; ++group) {
    for (uint32_t item = 0; item < groups->items[0]; ++item) {
      const uint64_t i = group * groups->items[0] + item;
      if (i < (uint64_t)count) numbers[i] *= factor;
    }
  }
  return 0;
}
static const uint32_t scale_sizes[] = {sizeof(void*), sizeof(int32_t), sizeof(int32_t)};
const outback_host_kernel outback_kernel_scale = {
    sizeof(outback_host_kernel), 3, scale_sizes, 0, 0, &run_scale};

// local_size(int* bytes): writes to all of the group's local memory, and says how much that is.
static int32_t run_local_size(const outback_host_groups* groups) {
  unsigned char* const local = groups->local;
  for (uint64_t i = 0; i < groups->local_size; ++i) local[i] = 1;
  **(int32_t**)groups->arguments[0] = (int32_t)groups->local_size;
  return 0;
}
static const uint32_t local_sizes[] = {sizeof(void*)};
const outback_host_kernel outback_kernel_local_size = {
    sizeof(outback_host_kernel), 1, local_sizes, 64, 0, &run_local_size};

// fault(): fails.
static int32_t run_fault(const outback_host_groups* groups) {
  (void)groups;
  return 3;
}
const outback_host_kernel outback_kernel_fault = {
    sizeof(outback_host_kernel), 0, NULL, 0, 0, &run_fault};
