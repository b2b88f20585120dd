// Kernels in the fake CUDA runtime: the record of what was launched, and kernels that compute.
// Plain C, as fake_cudart.h is.
//
// The kernels of a library that is loaded compute nothing; what they would have written is what was
// there.
#pragma once
#include <stddef.h>

#include "fake_cudart.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- The record: a line for each kernel, copy, fill and call of another library's function, in
// the order in which the program asked for them, from any thread.

// Starts it, or goes on with it. `kinds`: those that are wanted, between commas ("kernel", "copy",
// "fill", "call"), and "arguments" for the addresses that these get; null or empty: all of it. 0 on
// success; -1 where there is no such kind.
FAKE_CUDART_EXPORT int fake_cudart_record(const char* kinds);
FAKE_CUDART_EXPORT void fake_cudart_record_stop(void);
// Forgets the lines, and frees their texts.
FAKE_CUDART_EXPORT void fake_cudart_record_clear(void);
FAKE_CUDART_EXPORT int fake_cudart_recorded(void);
// One of them, 0 to fake_cudart_recorded() - 1; null beyond. Its text stays until the record is
// cleared. Nine fields with tabs between them:
//   kernel, copy, fill or call
//   now; captured in a graph; or replayed from one, once for each launch of the graph
//   the device
//   the stream: 0 is a default stream, else a number among those of its device, in their order
//   the grid in blocks and the block in threads, "2x1x1"; empty but for kernels
//   bytes: of dynamic shared memory of a kernel, or as many as are copied or filled
//   the kernel's name, demangled; the function's; "device to pinned"; the pattern
//   the addresses: of a kernel or call, "1.8=0:3+512" is what is at byte 8 of parameter 1; of a
//   copy or fill "to=" and "from=". 0:3+512 is byte 512 of the third allocation of device 0, which
//   is the same in each run of a program; "pinned:2+0" likewise, and "host" is memory that CUDA
//   does not know. "unknown" where the sizes of a kernel's parameters could not be read.
FAKE_CUDART_EXPORT const char* fake_cudart_recorded_line(int index);

// ---- Kernels that compute.

typedef struct fake_cudart_shape {
  unsigned grid[3], block[3];
  size_t shared;  // bytes of dynamic shared memory of a block
} fake_cudart_shape;

// What a kernel does, for all of its blocks. Runs on a thread of the library, when the stream has
// come to it, and may not call CUDA. `arguments` point to its parameters; addresses in these are
// such that the host can use them.
typedef void (*fake_cudart_body)(const fake_cudart_shape* shape, void** arguments, void* data);

// Gives a body to the kernel that `function` stands for in the program. A function that is no
// kernel of a library becomes one, named `name`. `sizes` are those of its parameters, each of which
// is aligned to the largest power of two that divides its size, 16 at most; null: they are read
// from the library. 0 on success; -1 where they cannot be.
FAKE_CUDART_EXPORT int fake_cudart_set_body(const void* function, const char* name,
                                            const size_t* sizes, int count, fake_cudart_body body,
                                            void* data);
// How many kernels the program has.
FAKE_CUDART_EXPORT int fake_cudart_kernels(void);

// ---- For stand-ins of the libraries that are built on CUDA.

// A call of `name`, which works on that stream of the current device and computes nothing. The
// addresses among its `count` arguments are recorded; others may be null. A cudaError_t.
FAKE_CUDART_EXPORT int fake_cudart_call(const char* name, void* stream,
                                        const void* const* arguments, int count);
// The same for a call that does something: when the stream has come to it, `body(data)` runs on a
// thread of the library, for each launch of a graph anew. It may wait for other processes, and may
// not call CUDA, but for fake_cudart_peek and fake_cudart_poke. `release(data)` is called once,
// after the last run, also where this function fails.
FAKE_CUDART_EXPORT int fake_cudart_call_with_body(const char* name, void* stream,
                                                  const void* const* arguments, int count,
                                                  void (*body)(void*), void* data,
                                                  void (*release)(void*));
// A function of the driver, as cudaGetDriverEntryPointByVersion finds it; null where there is none.
FAKE_CUDART_EXPORT void* fake_cudart_driver_function(const char* name, unsigned version);

#ifdef __cplusplus
}
#endif
