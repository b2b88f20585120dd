"""Defects of backend_template/runtimes: host, CUDA, Level Zero, OpenCL and null."""

from mutation.mutant import Mutant

MUTANTS = (
    Mutant(
        name="a_pageable_source_is_read_late",
        breaks="On the host runtime, a busy stream copies what the caller has since written to its "
        "pageable source.",
        file="backend_template/runtimes/host/host_copy.cpp",
        old="    s.enqueue_uncaptured([=] { std::memcpy(dst, staged.get(), size); }, what, "
        "nullptr,",
        new="    s.enqueue_uncaptured([=] { std::memcpy(dst, src, size); }, what, nullptr,",
        found_by="HostStreamsTest.APageableSourceIsStaged",
    ),
    Mutant(
        name="a_waiter_runs_what_needs_the_streams_thread",
        breaks="On the host runtime, who waits for a stream runs its callbacks, and may hold a "
        "lock that they take.",
        file="backend_template/runtimes/host/stream.cpp",
        old="queue_.front().by == runner::a_waiter_too;",
        new="!queue_.empty();",
        found_by="HostStreamsTest.AWaiterRunsWhatItsThreadHasNotBegun",
    ),
    Mutant(
        name="a_closed_streams_thread_is_not_told",
        breaks="On the host runtime, the thread of a destroyed stream whose last work a waiter has "
        "done lives as long as the process.",
        file="backend_template/runtimes/host/stream.cpp",
        old="  if (closed_ || !queue_.empty()) has_work_.notify_one();",
        new="  if (!queue_.empty()) has_work_.notify_one();",
        found_by="HostStreamsTest.AThreadEndsWhoseWorkAWaiterHasDone",
    ),
    Mutant(
        name="freed_memory_stays_charged",
        breaks="The host runtime's device fills up, though everything is freed: sizes are charged "
        "rounded and given back as they were asked for.",
        file="backend_template/runtimes/host/host_memory.cpp",
        old="  d.release(rounded(taken.size));",
        new="  d.release(taken.size);",
        found_by="HostMemoryTest.WhatIsFreedGivesBackAllThatItTook",
    ),
    Mutant(
        name="streams_wait_for_the_legacy_one",
        breaks="On CUDA, each stream waits for CUDA's own default stream and the other way round.",
        file="backend_template/runtimes/cuda/cuda_streams.cpp",
        old="unsigned{cudaStreamNonBlocking},",
        new="unsigned{cudaStreamDefault},",
        found_by="CudaStreamTest.AllAreNonBlocking",
    ),
    Mutant(
        name="a_destroyed_stream_is_forgotten",
        breaks="On the host runtime, synchronize() does not wait for the work of a stream that was "
        "destroyed meanwhile.",
        file="backend_template/runtimes/host/device.cpp",
        old="    all = destroyed_;\n",
        new="",
        found_by="HostStreamsTest.ADestroyedStreamFinishesAndTheDeviceWaitsForIt",
    ),
    Mutant(
        name="memory_is_of_the_current_device",
        breaks="On CUDA, memory for a device is taken from the one that is current.",
        file="backend_template/runtimes/cuda/cuda_memory.cpp",
        old="const beside_captures here(d);\n  void* ptr = nullptr;",
        new="const relaxed_captures here(d);\n  void* ptr = nullptr;",
        found_by="cuda_suite.summary",
    ),
    Mutant(
        name="an_error_that_ends_the_context_is_one_like_others",
        breaks="On CUDA, memory that cannot be corrected is an error like any other: the device is "
        "not lost.",
        file="backend_template/runtimes/cuda/errors.cpp",
        old="    case cudaErrorECCUncorrectable:\n",
        new="",
        found_by="CudaStatusTest.WhateverEndsAContextLosesTheDevice",
    ),
    Mutant(
        name="a_captured_launch_keeps_no_module",
        breaks="On CUDA, a graph launches a kernel whose module was unloaded.",
        file="backend_template/runtimes/cuda/cuda_kernels.cpp",
        old="  if (!gone->is_captured) d.unloading()",
        new="  d.unloading()",
        found_by="CudaKernelTest.AGraphKeepsTheModuleOfItsLaunches",
    ),
    Mutant(
        name="a_module_is_unloaded_beside_its_launches",
        breaks="On CUDA, a module is unloaded while launches of its kernels are pending.",
        file="backend_template/runtimes/cuda/unloading.cpp",
        old="    if (cuda.cudaStreamQuery(handle) == cudaSuccess) return true;\n",
        new="    return true;\n",
        found_by="CudaKernelTest.UnloadingDoesNotWaitForLaunches",
    ),
    Mutant(
        name="a_cubin_may_lack_its_end",
        breaks="On CUDA, the driver reads beyond the end of a cubin that was cut off.",
        file="backend_template/runtimes/cuda/image.cpp",
        old="    if (!is_inside(bytes, section.sh_offset, section.sh_size)) return false;\n",
        new="",
        found_by="CudaKernelTest.MachineCodeWhoseEndIsMissingIsRefused",
    ),
    Mutant(
        name="the_last_copy_of_a_fill_is_as_long_as_the_others",
        breaks="On CUDA and Level Zero, a fill with eight bytes writes beyond its end, unless its "
        "size is a power of two.",
        file="backend_template/runtimes/fill_pattern.hpp",
        old="    const std::size_t part = std::min(done, size - done);\n",
        new="    const std::size_t part = done;\n",
        found_by="CudaFillTest.EightBytesAreTwoFillsAndCopiesThatDouble",
    ),
    Mutant(
        name="a_tile_has_the_sensors_of_its_card",
        breaks="On Level Zero, a tile that is a device shows the other tile's temperature.",
        file="backend_template/runtimes/level_zero/sysman.cpp",
        old="    if (place_.tile && !(of_tile && properties.subdeviceId == *place_.tile)) "
        "continue;\n",
        new="    if (place_.tile && !of_tile) continue;\n",
        found_by="TelemetryTest.TilesThatAreDevicesHaveTheirOwnSensors",
    ),
    Mutant(
        name="a_staging_block_is_used_at_once_again",
        breaks="On Level Zero, what a small copy has staged is overwritten before the device has "
        "read it.",
        file="backend_template/runtimes/level_zero/staging.cpp",
        old="    if (!oldest.until.complete()) return nullptr;\n",
        new="",
        found_by="MemoryTest.MoreSmallCopiesThanMayBeStagedAreAllRight",
    ),
    Mutant(
        name="every_command_orders_the_next",
        breaks="On Level Zero, work of a stream overtakes the work before it where the driver's "
        "lists keep no order.",
        file="backend_template/runtimes/level_zero/command_queue.cpp",
        old="  unordered_ = how == leaves::unordered &&",
        new="  unordered_ = how == leaves::ordered &&",
        found_by="ze_adversarial_barriers_suite.summary",
    ),
    Mutant(
        name="an_allocation_that_is_too_large_is_wrong",
        breaks="On Level Zero, torch.OutOfMemoryError is an internal error where one allocation "
        "asks for more than the driver gives at once.",
        file="backend_template/runtimes/level_zero/result.cpp",
        old='OUTBACK_OUT_OF_MEMORY, "ZE_RESULT_ERROR_UNSUPPORTED_SIZE"',
        new='OUTBACK_INTERNAL, "ZE_RESULT_ERROR_UNSUPPORTED_SIZE"',
        found_by="FaultsTest.OutOfMemoryHasThreeNames",
    ),
    Mutant(
        name="a_staged_copy_is_freed_at_once",
        breaks="On OpenCL, what a small copy has staged is freed before the device has read it.",
        file="backend_template/runtimes/opencl/command_queue.hpp",
        old="    entry.staged = std::move(staged);\n",
        new="    staged.reset();\n",
        found_by="cl_suite.summary",
    ),
    Mutant(
        name="a_command_that_failed_is_done",
        breaks="On OpenCL, nobody is told of a command that failed while it ran.",
        file="backend_template/runtimes/opencl/command_queue.cpp",
        old="  if (status == CL_COMPLETE || !failure_.empty()) return;\n",
        new="  if (status <= CL_COMPLETE || !failure_.empty()) return;\n",
        found_by="LateFailuresTest.TheNextSyncTellsOnce",
    ),
    Mutant(
        name="the_null_device_has_no_limit",
        breaks="The null runtime's devices never run out of memory.",
        file="backend_template/runtimes/null/null_runtime.cpp",
        old="    used_[device] += size;\n",
        new="",
        found_by="null_suite.summary",
    ),
    Mutant(
        name="the_end_of_a_large_copy_is_lost",
        breaks="A large copy whose size is no multiple of a line writes its end to the beginning.",
        file="backend_template/include/outback/detail/large_copy.hpp",
        old="    dst = to, src = from;\n",
        new="",
        found_by="LargeCopyTest.CopiesAllOfItAndNothingBeside",
    ),
)
