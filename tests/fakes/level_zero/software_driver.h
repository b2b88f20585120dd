// The controls of the software driver, for tests: faults, lost devices, pauses, the clock, and what
// it saw.
//
// The driver's library exports them. Get it with dlopen(<the path in ZE_ENABLE_ALT_DRIVERS>,
// RTLD_NOW | RTLD_NOLOAD) once the loader has it, or without RTLD_NOLOAD before, and these with
// dlsym. All may be called from any thread.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// ---- Faults

// Lets the `nth` call of the entry point `name` from now on answer `result` (a ze_result_t) and do
// nothing else; with 0, every call. 0 if done, -1 if there is no such entry point.
int outback_ze_fail(const char* name, uint32_t nth, uint32_t result);

// Forgets all faults that have not happened, those of OUTBACK_ZE_FAULTS too.
void outback_ze_clear_failures(void);

// The name of entry point number `index`, or null beyond the last. The order is of no meaning and
// stays the same.
const char* outback_ze_entry_point(size_t index);

// How often the entry point was called; those that failed on purpose count.
uint64_t outback_ze_calls(const char* name);

// The device (its position in zeDeviceGet's answer) is lost for good: what is queued never runs,
// and every call that needs the device answers ZE_RESULT_ERROR_DEVICE_LOST. 0 if done, -1 if there
// is no such device.
int outback_ze_lose_device(uint32_t index);

// ---- Time

// While paused, no command begins. For tests of what is "not ready".
void outback_ze_pause(void);
void outback_ze_resume(void);

// Lets the devices' clocks jump ahead.
void outback_ze_advance_clock(uint64_t nanoseconds);

// ---- What there is

// How many objects of a kind live: "context", "command queue", "command list", "fence", "event
// pool", "event", "module", "build log", "kernel", "device memory", "host memory", "shared memory",
// "imported memory". UINT64_MAX for another word.
uint64_t outback_ze_live(const char* kind);

// How many launches of kernels the devices have come to, and the text of one of them, cut like a
// violation's: "add: groups 4 1 1, items 64 1 1, 00f0a5c0ff7f0000, 0000803f, local 256" has the
// bytes of each argument. The first 1000 texts are kept.
uint64_t outback_ze_launches(void);
int outback_ze_launch(size_t index, char* text, size_t size);

// Bytes of the device's memory that are in use.
uint64_t outback_ze_memory_used(uint32_t device);

// How many rules were broken so far, and the text of one of them: cut to `size` bytes with its
// null, false if there are not so many. At most 1000 texts are kept.
uint64_t outback_ze_violations(void);
int outback_ze_violation(size_t index, char* text, size_t size);

// Forgets violations, for a test that provoked them.
void outback_ze_clear_violations(void);

#ifdef __cplusplus
}
#endif
