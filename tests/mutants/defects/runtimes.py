"""Defects of backend_template/runtimes: host, CUDA, Level Zero and null."""

from mutation.mutant import Mutant

MUTANTS = (
    Mutant(
        name="small_work_overtakes_big_work",
        breaks="On the host runtime, a small copy is done before the work that the stream still "
        "has.",
        file="backend_template/runtimes/host/stream.cpp",
        old="  if (pending_.load(std::memory_order_relaxed) != 0 || options_.adversary) "
        "return false;",
        new="  if (options_.adversary) return false;",
        found_by="host_suite.StreamTest.SmallWorkDoesNotOvertakeBigWork",
    ),
    Mutant(
        name="a_pageable_source_is_read_late",
        breaks="On the host runtime, a busy stream copies what the caller has since written to its "
        "pageable source.",
        file="backend_template/runtimes/host/host_copy.cpp",
        old="    s.enqueue_uncaptured([=] { std::memcpy(dst, staged.get(), size); }, what);",
        new="    s.enqueue_uncaptured([=] { std::memcpy(dst, src, size); }, what);",
        found_by="HostStreamsTest.APageableSourceIsStaged",
    ),
    Mutant(
        name="freed_memory_stays_charged",
        breaks="The host runtime's device fills up, though everything is freed: sizes are charged "
        "rounded and given back as they were asked for.",
        file="backend_template/runtimes/host/host_memory.cpp",
        old="  d.release(rounded(taken.size));",
        new="  d.release(taken.size);",
        found_by="host_suite.MemoryTest.FreedMemoryIsNotLost",
    ),
    Mutant(
        name="a_waiting_stream_sees_later_recordings",
        breaks="On the host runtime, a captured stream waits for nothing, so that a graph runs its "
        "streams' work in any order.",
        file="backend_template/runtimes/host/capture.cpp",
        old="  add_to(lanes_[lane].seen, seen);\n",
        new="  add_to(lanes_[lane].seen, lanes_[lane].seen);\n  (void)seen;\n",
        found_by="HostAdversarialTest.AGraphThatWaitsIsRight",
    ),
    Mutant(
        name="every_other_word_is_filled",
        breaks="On CUDA, filling with a number of eight bytes leaves half of each.",
        file="backend_template/runtimes/cuda/cuda_copy.cpp",
        old="      for (const std::size_t half : {0, 4}) {",
        new="      for (const std::size_t half : {0}) {",
        found_by="cuda_suite.FillTest.EveryPatternSizeAndLength",
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
        name="memory_is_of_the_current_device",
        breaks="On CUDA, memory for a device is taken from the one that is current.",
        file="backend_template/runtimes/cuda/cuda_memory.cpp",
        old="  const on_device here(d);\n  const beside_captures relaxed(d);\n  void* ptr = nullptr;",
        new="  const beside_captures relaxed(d);\n  void* ptr = nullptr;",
        found_by="cuda_suite.MemoryTest.EveryDeviceHasItsOwn",
    ),
    Mutant(
        name="a_corrected_error_is_internal",
        breaks="On CUDA, memory that cannot be corrected is an error like any other: the device is "
        "not lost.",
        file="backend_template/runtimes/cuda/errors.cpp",
        old="    case cudaErrorECCUncorrectable:\n",
        new="",
        found_by="CudaErrorTest.OneThatIsStickyLosesTheDevice",
    ),
    Mutant(
        name="a_staging_block_is_used_at_once_again",
        breaks="On Level Zero, what a small copy has staged is overwritten before the device has "
        "read it.",
        file="backend_template/runtimes/level_zero/staging.cpp",
        old="    if (!oldest.until.complete()) return nullptr;\n",
        new="",
        found_by="ze_adversarial_suite.summary",
    ),
    Mutant(
        name="every_command_orders_the_next",
        breaks="On Level Zero, work of a stream overtakes the work before it where the driver's "
        "lists keep no order.",
        file="backend_template/runtimes/level_zero/queue.cpp",
        old="  unordered_ = how == leaves::unordered &&",
        new="  unordered_ = how == leaves::ordered &&",
        found_by="ze_adversarial_barriers_suite.summary",
    ),
    Mutant(
        name="an_allocation_that_is_too_large_is_wrong",
        breaks="On Level Zero, torch.OutOfMemoryError is an internal error where one allocation "
        "asks for more than the driver gives at once.",
        file="backend_template/runtimes/level_zero/result.cpp",
        old="    case ZE_RESULT_ERROR_UNSUPPORTED_SIZE:\n",
        new="",
        found_by="FaultsTest.OutOfMemoryHasThreeNames",
    ),
    Mutant(
        name="an_event_slot_is_lost",
        breaks="On Level Zero, events that are given back to an empty list are never used again.",
        file="backend_template/runtimes/level_zero/event_slots.cpp",
        old="  if (first == nullptr) last = nullptr;\n",
        new="",
        found_by="ModesTest.OtherEventsAreResetOnceTheyAreDone",
    ),
    Mutant(
        name="the_null_device_has_no_limit",
        breaks="The null runtime's devices never run out of memory.",
        file="backend_template/runtimes/null/null_runtime.cpp",
        old="    used_[device] += size;\n",
        new="",
        found_by="null_suite.MemoryTest.ExhaustionIsOutOfMemoryAndPasses",
    ),
    Mutant(
        name="two_bytes_are_filled_as_one",
        breaks="The null runtime fills float16 tensors with the first byte of the number.",
        file="backend_template/runtimes/null/null_runtime.cpp",
        old="    if (pattern_size == 1) {",
        new="    if (pattern_size <= 2) {",
        found_by="null_suite.FillTest.EveryPatternSizeAndLength",
    ),
)
