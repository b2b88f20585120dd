// What a test asks of the fake CUDA runtime beyond CUDA's own API. Plain C; look the functions up
// with dlsym.
//
// Any thread may call them at any time. Names are borrowed for the call; texts that are answered
// stay valid until the process ends.
#pragma once
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FAKE_CUDART_EXPORT __attribute__((visibility("default")))

// ---- Faults.

// The nth call of `entry_point` from now on (1: the next one; 0: every one) answers `error`, a
// cudaError_t or CUresult, once. What destroys, frees or closes does so all the same, as CUDA's
// answer is then about earlier work; all else has no effect. The names are those of the API
// ("cudaMalloc", "cuCtxPushCurrent"), or of work that fails when it runs, which loses the device:
// "@copy", "@fill", "@host", "@kernel". 0 on success; -1, and a line on stderr, where there is no
// such name.
FAKE_CUDART_EXPORT int fake_cudart_fail(const char* entry_point, int nth, int error);
// Forgets every fault that was set. Devices that are lost stay so.
FAKE_CUDART_EXPORT void fake_cudart_clear_faults(void);
// The device is as good as new; its memory and its objects stay.
FAKE_CUDART_EXPORT void fake_cudart_revive(int device);
// How often `entry_point` was called, failures included.
FAKE_CUDART_EXPORT unsigned long long fake_cudart_calls(const char* entry_point);

// ---- Wrong uses.

// Misuse is what CUDA leaves undefined or may not notice: use after free, leaving an allocation, a
// destroyed handle, freeing memory in use, calling CUDA in a host function. Each is told on stderr.
FAKE_CUDART_EXPORT int fake_cudart_violations(void);
// The text of one of them, 0 to fake_cudart_violations() - 1; null beyond.
FAKE_CUDART_EXPORT const char* fake_cudart_violation(int index);
// Refusals are what CUDA documents an error for: a wrong argument, a sync during a capture.
FAKE_CUDART_EXPORT int fake_cudart_refusals(void);
// The text of the last one; "" where there is none.
FAKE_CUDART_EXPORT const char* fake_cudart_last_refusal(void);
FAKE_CUDART_EXPORT void fake_cudart_forget_violations(void);

// ---- What is alive: "memory", "pinned", "registrations", "imports", "streams", "events",
// "graphs", "execs"; null: all of them.

FAKE_CUDART_EXPORT int fake_cudart_live(const char* kind);
// The same, without what `keep` was told of: what a test leaked.
FAKE_CUDART_EXPORT int fake_cudart_leaks(const char* kind);
// All that is alive of that kind is meant to stay until the process ends.
FAKE_CUDART_EXPORT void fake_cudart_keep(const char* kind);
// Lists the leaks on stderr, and answers their number.
FAKE_CUDART_EXPORT int fake_cudart_report_leaks(void);

// ---- A look inside.

// Whether the primary context of the device exists. Creates none, and changes nothing.
FAKE_CUDART_EXPORT int fake_cudart_context_active(int device);
// How many bytes of the device are allocated. -1: no such device.
FAKE_CUDART_EXPORT long long fake_cudart_memory_used(int device);
// The same of the device with that UUID ("GPU-..."); 0 where this process does not see it.
FAKE_CUDART_EXPORT long long fake_cudart_memory_used_by_uuid(const char* uuid);
// Reads and writes device memory at once, behind CUDA's back. 0 on success, -1 where the range is
// not inside of one allocation.
FAKE_CUDART_EXPORT int fake_cudart_peek(void* to, const void* device_memory, size_t size);
FAKE_CUDART_EXPORT int fake_cudart_poke(void* device_memory, const void* from, size_t size);

#ifdef __cplusplus
}
#endif
