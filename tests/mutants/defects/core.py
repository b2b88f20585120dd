"""Defects of backend_template/core: devices, streams, events, memory, generators, graphs."""

from mutation.mutant import Mutant

MUTANTS = (
    Mutant(
        name="memory_that_another_process_uses_is_not_kept",
        breaks="A tensor in another process lies over memory that the sender gives to others.",
        file="backend_template/core/memory/shared_memory.cpp",
        old="here.keep(share_memory(storage.data_ptr(), device), sent.size, std::move(shared));",
        new="here.keep(c10::DataPtr(), sent.size, std::move(shared));",
        found_by="tests/python/ecosystem/test_shared_memory.py"
        "::test_memory_lives_until_the_other_is_done",
    ),
    Mutant(
        name="a_message_is_believed_how_much_memory_there_is",
        breaks="A wrong size in a message ends the receiver by SIGSEGV.",
        file="backend_template/core/memory/shared_memory.cpp",
        old="  check_range(read, device, base);\n",
        new="",
        found_by="tests/python/ecosystem/test_shared_memory.py"
        "::test_bytes_beyond_the_memory_are_refused",
    ),
    Mutant(
        name="a_killed_receiver_keeps_memory_for_ever",
        breaks="The sender never gets back what a process that was killed had received.",
        file="backend_template/core/memory/shared_memory.cpp",
        old="  return written != not_received && kill(written, 0) != 0 && errno == ESRCH;",
        new="  return false;",
        found_by="tests/python/ecosystem/test_shared_memory.py"
        "::test_memory_lives_until_the_other_is_done",
    ),
    Mutant(
        name="views_that_were_sent_have_storages_of_their_own",
        breaks="A resize of one view in the receiver is not seen by the other.",
        file="backend_template/module/_outback/reducers.py",
        old="    if storage is not None:",
        new="    if storage is None and storage is not None:",
        found_by="tests/python/ecosystem/test_shared_memory.py::test_both_write_to_the_same_memory",
    ),
    Mutant(
        name="the_status_of_a_sync_is_not_looked_at",
        breaks="A stream's work that failed is reported to nobody: synchronize() returns.",
        file="backend_template/core/streams/stream.cpp",
        old='check(unlocked(sync), "streams.sync", device);',
        new="unlocked(sync);",
        found_by="tests/python/test_faults.py::test_a_failed_call_is_named_and_the_process_goes_on",
    ),
    Mutant(
        name="a_copy_between_devices_is_not_waited_for",
        breaks="The destination's stream reads what another device is still copying there.",
        file="backend_template/core/memory/copy.cpp",
        old="  copied.block(to);\n",
        new="",
        found_by="StreamTest.CopiesBetweenDevicesAreOrderedByBothStreams",
    ),
    Mutant(
        name="pinned_memory_is_held_by_an_interior_pointer",
        breaks="A pinned block is given out again while a copy from its middle still reads it.",
        file="backend_template/core/memory/copy.cpp",
        old="->record_event(info.base, nullptr, stream);",
        new="->record_event(static_cast<std::byte*>(info.base) + 64, nullptr, stream);",
        found_by="CopyTest.AViewHoldsTheBlockThatItLiesIn",
    ),
    Mutant(
        name="the_use_of_pinned_memory_is_not_recorded",
        breaks="Pinned memory is given out again before the copy that uses it is over.",
        file="backend_template/core/memory/host_allocator.cpp",
        old="    over_.record(stream_);\n",
        new="",
        found_by="CopyTest.PinnedMemoryIsNotHandedOutWhileACopyReadsIt",
    ),
    Mutant(
        name="a_graph_lets_go_of_pinned_memory",
        breaks="A replay copies pinned memory that was given to another tensor since the capture.",
        file="backend_template/core/memory/host_allocator.cpp",
        old="      open->host_memory()->hold(pointer_info(ptr).base);\n",
        new="",
        found_by="tests/python/graphs/test_graph_pinned_memory.py::"
        "test_what_a_graph_reads_stays_as_it_is",
    ),
    Mutant(
        name="record_stream_does_nothing",
        breaks="Memory that another stream still reads is given to the next tensor.",
        file="backend_template/core/memory/device_allocator.cpp",
        old="    cache_of(used->device).record(used, stream.id());\n",
        new="",
        found_by="DeviceAllocatorTest.RecordedMemoryIsNotReusedWhileTheStreamIsBusy",
    ),
    Mutant(
        name="an_exact_fit_is_too_small",
        breaks="A cached block of just the size that is asked for is passed over, and the device "
        "runs full.",
        file="backend_template/core/memory/allocator/free_blocks.cpp",
        old="    if (each->size < size ||",
        new="    if (each->size <= size ||",
        found_by="FreeBlocksTest.TheSmallestThatFitsIsFound",
    ),
    Mutant(
        name="what_is_freed_is_not_what_was_allocated",
        breaks="memory_stats() counts memory as freed that is still in use.",
        file="backend_template/core/memory/allocator/statistics.cpp",
        old="stat.freed += stat.allocated - stat.current;",
        new="stat.freed += stat.allocated;",
        found_by="DeviceCacheTest.StatisticsAgreeWithAModelOnAnyStreams",
    ),
    Mutant(
        name="a_clone_shares_the_position",
        breaks="A generator that was cloned draws on with the numbers of the original.",
        file="backend_template/core/interfaces/generator.cpp",
        old="  *copy->position_ = *position_;",
        new="  copy->position_ = position_;",
        found_by="GeneratorTest.ACopyContinuesFromTheSamePlace",
    ),
    Mutant(
        name="a_device_that_could_not_be_selected_is_current",
        breaks="After torch.acme.set_device() has raised, the device is the current one.",
        file="backend_template/core/devices/device.cpp",
        old='  check(select(index), "device_state.select", index);\n  device_here.current = index;',
        new='  device_here.current = index;\n  check(select(index), "device_state.select", index);',
        found_by="HookedRuntimeTest.ADeviceThatCannotBeSelectedIsNotCurrent",
    ),
    Mutant(
        name="what_was_freed_in_a_capture_stays_away",
        breaks="Memory that a stream used, and that was freed while a graph was captured, is never "
        "used again.",
        file="backend_template/core/captures/capture.cpp",
        old="    for (const auto& work : now) work();\n",
        new="",
        found_by="tests/python/graphs/test_graph_memory.py::"
        "test_what_another_stream_uses_is_not_reused_before_the_capture_ends",
    ),
    Mutant(
        name="a_graph_keeps_its_pool_on_one_device_alone",
        breaks="What a capture allocated on a second device's stream goes back to the runtime, and "
        "replays write to memory that is not theirs.",
        file="backend_template/core/captures/capture.cpp",
        old="  if (of_.hold_pool != nullptr) of_.hold_pool(device);\n",
        new="",
        found_by="DeviceGraphTest.EachStreamThatACaptureSpreadsToAllocatesFromItsPoolWhichIsKept",
    ),
    Mutant(
        name="a_capture_puts_back_what_another_one_wrote",
        breaks="After two captures that were open at once, memory holds what one of them wrote.",
        file="backend_template/core/captures/capture_rollback.cpp",
        old="    if (copy->is_valid()) write_common(*copy, data, size, bytes.get());\n",
        new="",
        found_by="CaptureRollbackTest.EachOfTwoCapturesKeepsWhatWasThereBeforeBoth",
    ),
    Mutant(
        name="a_forked_child_is_in_its_parents_captures",
        breaks="A child that was forked while a graph is captured waits for ever for a lock that "
        "another thread of the parent held.",
        file="backend_template/core/captures/capture.cpp",
        old="    each.now.store(0, std::memory_order_relaxed);\n",
        new="    each.ever.store(0, std::memory_order_relaxed);\n",
        found_by="DeviceGraphTest.AForkedChildIsInNoCapture",
    ),
    Mutant(
        name="a_capture_stops_the_memory_of_all_devices",
        breaks="While a graph is captured on one device, memory runs out on the others, which do "
        "not empty their caches.",
        file="backend_template/core/memory/device_allocator.cpp",
        old="  if (any_capture(device)) return cache_fate::kept_for_capture;",
        new="  if (any_capture(0)) return cache_fate::kept_for_capture;",
        found_by="tests/python/graphs/test_captures_by_device.py::"
        "test_memory_that_is_cached_serves_before_there_is_an_error",
    ),
    Mutant(
        name="no_event_serves_twice",
        breaks="Each block that a stream still uses when it is freed costs a new event.",
        file="backend_template/core/memory/allocator/pending_uses.cpp",
        old="  if (spare_ == nullptr) return nullptr;",
        new="  if (spare_ == nullptr || !lines_.empty()) return nullptr;",
        found_by="PendingMemoryTest.EventsServeAgain",
    ),
    Mutant(
        name="what_a_graph_used_goes_back_while_another_device_runs_it",
        breaks="A graph over two devices is reset while a launch is pending on the second one: the "
        "first one's memory goes back to the driver, and the launch writes to it.",
        file="backend_template/core/memory/allocator/freeing.cpp",
        old="  if (list != nullptr) for_each_other_device(device, &synchronize_device);\n",
        new="",
        found_by="HookedRuntimeTest.WhatAGraphUsedIsNotGivenBackWhileAnotherDeviceRunsIt",
    ),
    Mutant(
        name="autograd_never_gets_more_threads",
        breaks="After torch.set_num_threads(8) a backward pass uses as few threads as before.",
        file="backend_template/core/interfaces/thread_count.cpp",
        old="wanted != at::get_num_threads()",
        new="wanted < at::get_num_threads()",
        found_by="tests/python/streams/test_thread_counts.py::"
        "test_a_number_set_after_the_first_backward_pass_counts",
        on="host-memory-apart",
    ),
    Mutant(
        name="autograds_threads_start_before_the_pool",
        breaks="In a forked child two of autograd's threads make torch's pool anew at once, and "
        "one finds none.",
        file="backend_template/core/interfaces/guard.cpp",
        old="    renew_pool_after_fork();\n",
        new="",
        found_by="tests/python/streams/test_thread_counts.py::"
        "test_a_forked_child_has_its_pool_before_it_has_autograds_threads",
    ),
    Mutant(
        name="a_group_waits_for_the_thread_it_ends_in",
        breaks="A callback that holds the last reference to a group ends the process.",
        file="backend_template/distributed/gloo/transport.cpp",
        old="aborted_ || is_gloos_thread()",
        new="aborted_",
        found_by="tests/python/distributed/test_endings.py::"
        "test_a_callback_may_hold_the_last_reference_to_the_group",
    ),
    Mutant(
        name="a_wait_keeps_the_gil",
        breaks="A thread waits with the GIL for a replay that runs an operator written in Python.",
        file="registration/python/register.cpp",
        old="  python::give_up_gil_in_waits();\n",
        new="",
        found_by="tests/python/graphs/test_gil.py::test_a_call_that_waits_lets_python_run",
    ),
    Mutant(
        name="a_copy_to_the_device_counts_as_one_to_the_host",
        breaks="The operator report says that a copy to the device went to the host.",
        file="backend_template/core/operators/call_notes.cpp",
        old="   : to_device              ? to.bytes_to_device",
        new="   : !to_device             ? to.bytes_to_device",
        found_by="tests/python/operators/test_operator_report.py::"
        "test_what_is_copied_and_waited_for_is_what_the_trace_has",
    ),
)
