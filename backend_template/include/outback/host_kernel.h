// What a module in OUTBACK_FORMAT_HOST contains: an ELF shared object for the host's processor that
// exports one variable for each of its kernels. The variable of the kernel `add` is
//
//   const outback_host_kernel outback_kernel_add = {...};
//
// A shared object of another origin has no such variables, so it has no kernels. Plain C11.
#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The beginning of the names of the exported variables.
#define OUTBACK_HOST_KERNEL_PREFIX "outback_kernel_"

// The groups of a launch that one call of `run` must run, one after another or in any other order.
// A struct of the caller: valid for the call.
typedef struct outback_host_groups {
  // sizeof(outback_host_groups) where the caller was compiled.
  uint32_t struct_size;
  // How many items each group has, in three dimensions.
  uint32_t items[3];
  // How many groups the whole launch has, in three dimensions.
  uint32_t groups[3];
  uint32_t reserved;
  // The groups to run: numbers `first` to `first + count - 1`. The number of the group (x, y, z) is
  // x + groups[0] * (y + groups[1] * z).
  uint64_t first, count;
  // The address of each argument.
  void* const* arguments;
  // outback_launch.local_size bytes, aligned to 64, for one group at a time. Each group may find
  // what an earlier one left.
  void* local;
  uint64_t local_size;
} outback_host_groups;

// A kernel.
typedef struct outback_host_kernel {
  // sizeof(outback_host_kernel) where the module was compiled.
  uint32_t struct_size;
  // How many arguments the kernel has, and the size of each in bytes.
  uint32_t argument_count;
  const uint32_t* argument_sizes;
  // How many items a group may have at most; 0 if the kernel sets no limit.
  uint32_t max_items;
  uint32_t reserved;
  // Runs groups. Called from any thread, by several threads at once for different groups. Returns
  // 0, or any other number if the kernel faulted: the number is then in the message of the failure.
  int32_t (*run)(const outback_host_groups* groups);
  // Of each argument, 1 if it is a pointer to the device's memory, and 0 if it is a number or a
  // struct. Null if the module does not tell: then a number that is given for a pointer is not
  // noticed.
  const uint8_t* argument_is_memory;
} outback_host_kernel;

#ifdef __cplusplus
}  // extern "C"
#endif
