"""Defects that were chosen from the sources alone, by a reader who had not read the tests."""

from mutation.mutant import Mutant

_CORE = (
    Mutant(
        name="telling_of_one_devices_failure_forgets_the_others",
        breaks="Operators fail in replays on two devices; once device 0's failure was raised, "
        "waiting for device 1 succeeds as if its results were good.",
        file="backend_template/core/devices/host_failure.cpp",
        old="    has_host_failure[static_cast<size_t>(device)].store(false, "
        "std::memory_order_release);",
        new="    for (auto& each : has_host_failure) each.store(false, std::memory_order_release);",
        found_by="HookedRuntimeTest.TheFailuresOfTwoDevicesAreBothTold",
    ),
    Mutant(
        name="waiting_for_a_device_counts_work_that_came_meanwhile_as_done",
        breaks="While one thread waits for the device, another puts work on the default stream: "
        "the CPU's kernels then read that memory without waiting for it.",
        file="backend_template/core/streams/stream.cpp",
        old="""\
  const uint64_t count = streams.default_stream.enqueued.load(std::memory_order_acquire);
  const auto sync = [&] { return runtime().device_sync(runtime().self, index); };
  check(unlocked(sync), "device_sync", index);
""",
        new="""\
  const auto sync = [&] { return runtime().device_sync(runtime().self, index); };
  check(unlocked(sync), "device_sync", index);
  const uint64_t count = streams.default_stream.enqueued.load(std::memory_order_acquire);
""",
        found_by="HookedRuntimeTest.WorkThatComesWhileTheHostWaitsIsNotTakenForDone",
    ),
    Mutant(
        name="a_stream_stays_current_though_its_device_could_not_be_selected",
        breaks="`with torch.acme.stream(s)` raises since the driver cannot select the stream's "
        "device, and s is that device's current stream from then on.",
        file="backend_template/core/streams/stream.cpp",
        old="    exchange_stream(there);\n    throw;",
        new="    throw;",
        found_by="HookedRuntimeTest.AStreamOfADeviceThatCannotBeSelectedIsNotCurrent",
    ),
    Mutant(
        name="a_launch_that_failed_leaves_its_random_numbers_to_the_next",
        breaks="After a replay that the driver refused, every further one draws the random "
        "numbers of the one before it, and the graph's program is never freed.",
        file="backend_template/core/graphs/device_graph.cpp",
        old="    if (program_ != nullptr) program_->cancel_launch();\n",
        new="",
        found_by="tests/python/graphs/test_graph_faults.py::"
        "test_a_launch_that_was_refused_takes_no_later_launchs_numbers",
    ),
)

_OPS = (
    Mutant(
        name="zeroing_asks_whether_the_wrong_stream_is_idle",
        breaks="zero_() on a busy stream that is not the default one happens before the work "
        "that the stream has, which then overwrites the zeros.",
        file="backend_template/ops/own/fills.cpp",
        old="core::is_done(core::current_stream(index));",
        new="core::is_done(core::default_stream(index));",
        found_by="OrderTest.ZeroingWaitsForTheStream",
    ),
    Mutant(
        name="a_captured_operator_keeps_the_cpu_scalar_and_not_its_value",
        breaks="A graph that was captured with a CPU tensor of no dimensions computes with "
        "whatever that tensor holds at the time of each replay.",
        file="backend_template/ops/recording/recorded_loans.cpp",
        old="is_number ? tensor : tensor.detach().clone()",
        new="is_number ? tensor : tensor.detach()",
        found_by="tests/python/graphs/test_capture.py::"
        "test_a_scalar_of_the_cpus_is_taken_as_it_was_at_the_capture",
    ),
    Mutant(
        name="updated_statistics_lose_the_variance",
        breaks="On memory that the CPU cannot address, torch.batch_norm_update_stats updates "
        "running_mean and leaves running_var as it was.",
        file="backend_template/ops/operator_table.cpp",
        old='"aten::batch_norm_update_stats", .also_written = {"running_mean", "running_var"}',
        new='"aten::batch_norm_update_stats", .also_written = {"running_mean"}',
        found_by="tests/python/ops/test_results.py::"
        "test_running_statistics_are_written_in_every_way",
        on="host-memory-apart",
    ),
)

_REST_OF_THE_BACKEND = (
    Mutant(
        name="an_index_beyond_64_bits_is_taken_for_a_negative_one",
        breaks="torch.acme.set_device(2**70) changes nothing and says nothing, instead of "
        "raising torch.AcceleratorError.",
        file="backend_template/python/device_argument.cpp",
        old="number < py::int_(0)",
        new="[&, over = 0]() mutable {"
        " return PyLong_AsLongLongAndOverflow(number.ptr(), &over) < 0; }()",
        found_by="tests/python/test_device_module.py::test_a_huge_index_is_no_negative_one",
    ),
    Mutant(
        name="a_converted_result_is_copied_before_the_kernel_has_run",
        breaks="A vendor's asynchronous elementwise kernel with an out= of another dtype: the "
        "result is what the temporary held before the kernel wrote it.",
        file="backend_template/kernels/elementwise.cpp",
        old="  stream.mark_launched();  // before copies that have to wait for it\n",
        new="",
        found_by="ElementwiseTest.AnOutputIsConvertedWhenTheKernelIsThroughWithIt",
    ),
    Mutant(
        name="a_refused_close_is_taken_for_one_that_closed",
        breaks="Under OUTBACK_VALIDATE=1 memory of another process that the runtime would not "
        "close counts as closed: closing it again is refused, and the leak report leaves it out.",
        file="backend_template/layers/objects.cpp",
        old="  if (taken.from == origin::opened) return open_once(taken);\n",
        new="  if (taken.from == origin::opened) return;\n",
        found_by="IpcTest.IsClosedAsOftenAsItWasOpened",
    ),
    Mutant(
        name="the_snapshots_microseconds_are_nanoseconds",
        breaks="time_us in torch.acme.memory._snapshot() is a thousand times too large: the "
        "memory visualizer shows dates of the far future.",
        file="backend_template/module/memory/snapshot.cpp",
        old="to_unix(entry.time_.approx_t_) / 1000,",
        new="to_unix(entry.time_.approx_t_),",
        found_by="tests/python/memory/test_history.py::"
        "test_allocations_and_frees_are_recorded_in_order",
    ),
    Mutant(
        name="disabling_a_device_as_its_own_peer_is_no_error",
        breaks="peer.disable(device, device) of a C++ runtime's table reaches the vendor's "
        "class, which was promised two devices.",
        file="backend_template/include/outback/detail/call_check.hpp",
        old="slots::peer_disable, int32_t device, int32_t peer) {\n"
        "  check_rule(slots::peer_enable(), device, peer);\n}",
        new="slots::peer_disable, int32_t, int32_t) {}",
        found_by="TableSlotsTest.ADeviceIsNoPeerOfItself",
    ),
)

_RUNTIMES = (
    Mutant(
        name="memory_that_the_host_has_not_got_stays_charged",
        breaks="Each mem_alloc within the device's budget that the host itself cannot serve "
        "takes its size off the device for good.",
        file="backend_template/runtimes/host/host_memory.cpp",
        old="    d.release(rounded(size));\n",
        new="",
        found_by="HostMemoryTest.TheHostsOwnLimitIsOutOfMemoryToo",
    ),
    Mutant(
        name="asking_for_a_pending_time_leaves_cudas_error_behind",
        breaks="After elapsed_time of events that are not complete, the next kernel launch that "
        "asks CUDA for its last error fails with cudaErrorNotReady.",
        file="backend_template/runtimes/cuda/cuda_events.cpp",
        old="    d.cuda().cudaGetLastError();\n    return std::nullopt;",
        new="    return std::nullopt;",
        found_by="CudaPendingTest.ATimeThatIsNotThereYetLeavesNoErrorBehind",
    ),
    Mutant(
        name="shared_memory_that_failed_to_open_opens_as_null",
        breaks="The driver refuses to open another process's memory once; the next try of the "
        "same handle succeeds and answers a null pointer.",
        file="backend_template/runtimes/opened_memory.hpp",
        old="        opened_.erase(place);\n",
        new="",
        found_by="MemoryTest.AHandleThatCannotBeOpenedCannotBeOpenedTheNextTimeEither",
    ),
    Mutant(
        name="freed_memory_is_credited_to_the_first_device",
        breaks="On the null runtime's second device freed memory is never available again, and "
        "the first one's count of used bytes goes below zero.",
        file="backend_template/runtimes/null/null_runtime.cpp",
        old="    used_[device] -= found->second;",
        new="    used_[0] -= found->second;",
        found_by="null_suite.summary",
    ),
)

_GENERATORS = (
    Mutant(
        name="another_keyword_makes_a_move_block",
        breaks="tensor.acme(non_blocking=True, dtype=torch.half) waits for its copy, since the "
        "way by Tensor.to forgets non_blocking.",
        file="generators/methods/tensor_methods.cpp",
        old='  named["non_blocking"] = py::bool_(arguments.non_blocking);\n',
        new="",
        found_by="tests/python/test_tensor_methods.py::test_another_keyword_does_not_make_it_wait",
    ),
    Mutant(
        name="the_cached_torch_half_outlives_a_change_of_the_registration",
        breaks="After a change in registration/, torch_outback.load and `outback build` go on "
        "with the module that was compiled before it.",
        file="generators/cli/torch_outback/cache_key.py",
        old='    "generators/methods",\n    "registration",\n',
        new='    "generators/methods",\n',
        found_by="tests/package/test_load.py::test_a_change_of_any_source_is_another_module",
    ),
    Mutant(
        name="the_scaffolds_zero_takes_any_view_for_one_piece_of_memory",
        breaks="In every new project t[:, 0].zero_() zeroes the beginning of the first row and "
        "leaves the rest of the column.",
        file="generators/project/src/kernels.cpp",
        old="  if (!self.is_non_overlapping_and_dense()) return self.fill_(0);\n",
        new="",
        found_by="tests/python/ops/test_views.py::test_zeroing_a_view_leaves_the_rest",
    ),
    Mutant(
        name="a_loaded_backend_autocasts_to_the_other_dtype",
        breaks="torch.autocast on a backend of torch_outback.load casts to bfloat16 where "
        "torch.float16 comes first.",
        file="generators/cli/torch_outback/loading.py",
        old="(torch.float16, torch.bfloat16)",
        new="(torch.bfloat16, torch.float16)",
        found_by="tests/package/test_load.py::test_a_runtime_in_c_becomes_a_backend",
    ),
    Mutant(
        name="a_libtorch_of_the_old_abi_is_taken_for_one_of_the_new",
        breaks="Against a libtorch with _GLIBCXX_USE_CXX11_ABI=0 everything compiles, and the "
        "library that comes out has undefined symbols.",
        file="cmake/OutbackTorch.cmake",
        old="set(${out} 0 PARENT_SCOPE)",
        new="set(${out} 1 PARENT_SCOPE)",
        found_by="tests/package/test_consumer.py::"
        "test_a_libtorch_of_the_old_abi_is_compiled_for_as_one",
    ),
)

MUTANTS = _CORE + _OPS + _REST_OF_THE_BACKEND + _RUNTIMES + _GENERATORS
