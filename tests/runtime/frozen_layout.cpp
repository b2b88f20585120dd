// The layout of ABI 1, for 64-bit machines, written down once: runtimes that were compiled long ago
// are read by it. What is here never changes while OUTBACK_ABI_MAJOR is 1; what is appended to the
// contract gets lines of its own, and a SIZE that may only grow.
#include <cstddef>

#include "outback/runtime.h"

static_assert(OUTBACK_ABI_MAJOR == 1, "a new major version has a layout of its own");
static_assert(sizeof(void*) == 8 && sizeof(std::size_t) == 8);

#define SIZE(type, bytes) static_assert(sizeof(type) == (bytes), #type)
#define FIELD(type, field, place) static_assert(offsetof(type, field) == (place), #type "." #field)
#define VALUE(name, number) static_assert((name) == (number), #name)
// clang-format off

SIZE(outback_device_info, 144);
FIELD(outback_device_info, struct_size, 0);
FIELD(outback_device_info, flags, 4);
FIELD(outback_device_info, memory_size, 8);
FIELD(outback_device_info, max_alloc_size, 16);
FIELD(outback_device_info, alignment, 24);
FIELD(outback_device_info, kernels_of, 28);
FIELD(outback_device_info, compute_units, 32);
FIELD(outback_device_info, subgroup_size, 36);
FIELD(outback_device_info, max_group_size, 40);
FIELD(outback_device_info, capability_major, 44);
FIELD(outback_device_info, capability_minor, 46);
FIELD(outback_device_info, uuid, 48);
FIELD(outback_device_info, name, 64);
FIELD(outback_device_info, pci_id, 128);

SIZE(outback_streams, 48);
FIELD(outback_streams, struct_size, 0);
FIELD(outback_streams, reserved, 4);
FIELD(outback_streams, create, 8);
FIELD(outback_streams, destroy, 16);
FIELD(outback_streams, query, 24);
FIELD(outback_streams, sync, 32);
FIELD(outback_streams, priorities, 40);

SIZE(outback_events, 64);
FIELD(outback_events, struct_size, 0);
FIELD(outback_events, reserved, 4);
FIELD(outback_events, create, 8);
FIELD(outback_events, destroy, 16);
FIELD(outback_events, record, 24);
FIELD(outback_events, wait, 32);
FIELD(outback_events, query, 40);
FIELD(outback_events, sync, 48);
FIELD(outback_events, elapsed, 56);

SIZE(outback_pointer_info, 32);
FIELD(outback_pointer_info, struct_size, 0);
FIELD(outback_pointer_info, device, 4);
FIELD(outback_pointer_info, pinned, 8);
FIELD(outback_pointer_info, reserved, 12);
FIELD(outback_pointer_info, base, 16);
FIELD(outback_pointer_info, size, 24);

SIZE(outback_host_memory, 32);
FIELD(outback_host_memory, struct_size, 0);
FIELD(outback_host_memory, reserved, 4);
FIELD(outback_host_memory, alloc, 8);
FIELD(outback_host_memory, free, 16);
FIELD(outback_host_memory, info, 24);

SIZE(outback_device_state, 32);
FIELD(outback_device_state, struct_size, 0);
FIELD(outback_device_state, reserved, 4);
FIELD(outback_device_state, select, 8);
FIELD(outback_device_state, is_active, 16);
FIELD(outback_device_state, memory_usage, 24);

SIZE(outback_host_registration, 24);
FIELD(outback_host_registration, struct_size, 0);
FIELD(outback_host_registration, reserved, 4);
FIELD(outback_host_registration, add, 8);
FIELD(outback_host_registration, remove, 16);

SIZE(outback_peer, 32);
FIELD(outback_peer, struct_size, 0);
FIELD(outback_peer, reserved, 4);
FIELD(outback_peer, can_access, 8);
FIELD(outback_peer, enable, 16);
FIELD(outback_peer, disable, 24);

SIZE(outback_native, 48);
FIELD(outback_native, struct_size, 0);
FIELD(outback_native, reserved, 4);
FIELD(outback_native, device, 8);
FIELD(outback_native, context, 16);
FIELD(outback_native, stream, 24);
FIELD(outback_native, event, 32);
FIELD(outback_native, wrap_stream, 40);

SIZE(outback_callbacks, 16);
FIELD(outback_callbacks, struct_size, 0);
FIELD(outback_callbacks, reserved, 4);
FIELD(outback_callbacks, enqueue, 8);

SIZE(outback_ipc_handle, 128);
FIELD(outback_ipc_handle, struct_size, 0);
FIELD(outback_ipc_handle, size, 4);
FIELD(outback_ipc_handle, fd, 8);
FIELD(outback_ipc_handle, reserved, 12);
FIELD(outback_ipc_handle, bytes, 16);

SIZE(outback_ipc, 48);
FIELD(outback_ipc, struct_size, 0);
FIELD(outback_ipc, reserved, 4);
FIELD(outback_ipc, get_memory, 8);
FIELD(outback_ipc, open_memory, 16);
FIELD(outback_ipc, close_memory, 24);
FIELD(outback_ipc, get_event, 32);
FIELD(outback_ipc, open_event, 40);

SIZE(outback_graphs, 56);
FIELD(outback_graphs, struct_size, 0);
FIELD(outback_graphs, reserved, 4);
FIELD(outback_graphs, begin, 8);
FIELD(outback_graphs, status, 16);
FIELD(outback_graphs, end, 24);
FIELD(outback_graphs, instantiate, 32);
FIELD(outback_graphs, launch, 40);
FIELD(outback_graphs, destroy, 48);

SIZE(outback_process, 16);
FIELD(outback_process, pid, 0);
FIELD(outback_process, memory, 8);

SIZE(outback_processes, 2056);
FIELD(outback_processes, struct_size, 0);
FIELD(outback_processes, count, 4);
FIELD(outback_processes, list, 8);

SIZE(outback_telemetry, 24);
FIELD(outback_telemetry, struct_size, 0);
FIELD(outback_telemetry, reserved, 4);
FIELD(outback_telemetry, read, 8);
FIELD(outback_telemetry, processes, 16);

SIZE(outback_record, 64);
FIELD(outback_record, kind, 0);
FIELD(outback_record, flags, 4);
FIELD(outback_record, stream, 8);
FIELD(outback_record, begin, 16);
FIELD(outback_record, end, 24);
FIELD(outback_record, bytes, 32);
FIELD(outback_record, correlation, 40);
FIELD(outback_record, name, 48);
FIELD(outback_record, reserved, 56);

SIZE(outback_records, 16400);
FIELD(outback_records, struct_size, 0);
FIELD(outback_records, count, 4);
FIELD(outback_records, lost, 8);
FIELD(outback_records, list, 16);

SIZE(outback_activity, 72);
FIELD(outback_activity, struct_size, 0);
FIELD(outback_activity, reserved, 4);
FIELD(outback_activity, start, 8);
FIELD(outback_activity, stop, 16);
FIELD(outback_activity, flush, 24);
FIELD(outback_activity, read, 32);
FIELD(outback_activity, clock, 40);
FIELD(outback_activity, stream, 48);
FIELD(outback_activity, push, 56);
FIELD(outback_activity, pop, 64);

SIZE(outback_ranges, 32);
FIELD(outback_ranges, struct_size, 0);
FIELD(outback_ranges, reserved, 4);
FIELD(outback_ranges, push, 8);
FIELD(outback_ranges, pop, 16);
FIELD(outback_ranges, mark, 24);

SIZE(outback_formats, 136);
FIELD(outback_formats, struct_size, 0);
FIELD(outback_formats, count, 4);
FIELD(outback_formats, list, 8);
FIELD(outback_formats, target, 72);

SIZE(outback_kernel_info, 40);
FIELD(outback_kernel_info, struct_size, 0);
FIELD(outback_kernel_info, argument_count, 4);
FIELD(outback_kernel_info, max_items, 8);
FIELD(outback_kernel_info, subgroup_size, 12);
FIELD(outback_kernel_info, registers, 16);
FIELD(outback_kernel_info, reserved, 20);
FIELD(outback_kernel_info, local_size, 24);
FIELD(outback_kernel_info, private_size, 32);

SIZE(outback_argument, 16);
FIELD(outback_argument, value, 0);
FIELD(outback_argument, size, 8);
FIELD(outback_argument, is_memory, 12);

SIZE(outback_launch, 48);
FIELD(outback_launch, struct_size, 0);
FIELD(outback_launch, argument_count, 4);
FIELD(outback_launch, arguments, 8);
FIELD(outback_launch, groups, 16);
FIELD(outback_launch, items, 28);
FIELD(outback_launch, local_size, 40);

SIZE(outback_kernels, 56);
FIELD(outback_kernels, struct_size, 0);
FIELD(outback_kernels, reserved, 4);
FIELD(outback_kernels, formats, 8);
FIELD(outback_kernels, module_load, 16);
FIELD(outback_kernels, module_unload, 24);
FIELD(outback_kernels, kernel, 32);
FIELD(outback_kernels, info, 40);
FIELD(outback_kernels, launch, 48);

SIZE(outback_runtime, 192);
FIELD(outback_runtime, struct_size, 0);
FIELD(outback_runtime, abi_major, 4);
FIELD(outback_runtime, abi_minor, 6);
FIELD(outback_runtime, self, 8);
FIELD(outback_runtime, last_error, 16);
FIELD(outback_runtime, device_count, 24);
FIELD(outback_runtime, device_info, 32);
FIELD(outback_runtime, device_sync, 40);
FIELD(outback_runtime, mem_alloc, 48);
FIELD(outback_runtime, mem_free, 56);
FIELD(outback_runtime, mem_copy, 64);
FIELD(outback_runtime, mem_fill, 72);
FIELD(outback_runtime, streams, 80);
FIELD(outback_runtime, events, 88);
FIELD(outback_runtime, host_memory, 96);
FIELD(outback_runtime, device_state, 104);
FIELD(outback_runtime, host_registration, 112);
FIELD(outback_runtime, peer, 120);
FIELD(outback_runtime, native, 128);
FIELD(outback_runtime, callbacks, 136);
FIELD(outback_runtime, ipc, 144);
FIELD(outback_runtime, graphs, 152);
FIELD(outback_runtime, telemetry, 160);
FIELD(outback_runtime, activity, 168);
FIELD(outback_runtime, ranges, 176);
FIELD(outback_runtime, kernels, 184);

VALUE(OUTBACK_OK, 0);
VALUE(OUTBACK_NOT_READY, 1);
VALUE(OUTBACK_INVALID_ARGUMENT, 2);
VALUE(OUTBACK_OUT_OF_MEMORY, 3);
VALUE(OUTBACK_DEVICE_LOST, 4);
VALUE(OUTBACK_UNSUPPORTED, 5);
VALUE(OUTBACK_INTERNAL, 6);
VALUE(OUTBACK_HOST_ADDRESSABLE, 1);
VALUE(OUTBACK_ADDRESSES_HOST, 2);
VALUE(OUTBACK_INTEGRATED, 4);
VALUE(OUTBACK_NO_FLOAT64, 8);
VALUE(OUTBACK_NO_FLOAT16, 16);
VALUE(OUTBACK_NO_BFLOAT16, 32);
VALUE(OUTBACK_NO_INT64_ATOMICS, 64);
VALUE(OUTBACK_EVENT_TIMING, 1);
VALUE(OUTBACK_EVENT_BLOCKING, 2);
VALUE(OUTBACK_EVENT_INTERPROCESS, 4);
VALUE(OUTBACK_CAPTURE_NONE, 0);
VALUE(OUTBACK_CAPTURE_ACTIVE, 1);
VALUE(OUTBACK_CAPTURE_BROKEN, 2);
VALUE(OUTBACK_METRIC_UTILIZATION, 1);
VALUE(OUTBACK_METRIC_MEMORY_UTILIZATION, 2);
VALUE(OUTBACK_METRIC_MEMORY_USED, 3);
VALUE(OUTBACK_METRIC_TEMPERATURE, 4);
VALUE(OUTBACK_METRIC_POWER, 5);
VALUE(OUTBACK_METRIC_CLOCK, 6);
VALUE(OUTBACK_METRIC_DEVICE_MEMORY_USED, 7);
VALUE(OUTBACK_RECORD_KERNEL, 1);
VALUE(OUTBACK_RECORD_COPY_TO_DEVICE, 2);
VALUE(OUTBACK_RECORD_COPY_TO_HOST, 3);
VALUE(OUTBACK_RECORD_COPY_WITHIN, 4);
VALUE(OUTBACK_RECORD_COPY_BETWEEN, 5);
VALUE(OUTBACK_RECORD_FILL, 6);
VALUE(OUTBACK_RECORD_CALLBACK, 7);
VALUE(OUTBACK_RECORD_GRAPH, 8);
VALUE(OUTBACK_RECORD_OTHER, 9);
VALUE(OUTBACK_RECORD_IN_GRAPH, 1);
VALUE(OUTBACK_FORMAT_HOST, 1);
VALUE(OUTBACK_FORMAT_SPIRV, 2);
VALUE(OUTBACK_FORMAT_PTX, 3);
VALUE(OUTBACK_FORMAT_CUBIN, 4);
VALUE(OUTBACK_FORMAT_HSACO, 5);
VALUE(OUTBACK_FORMAT_OPENCL_C, 6);
VALUE(OUTBACK_HOST, -1);
VALUE(OUTBACK_UNKNOWN_MEMORY, UINT64_MAX);
// clang-format on
