"""Defects of backend_template/ops: own kernels, redispatch, fallback and recording."""

from mutation.mutant import Mutant

MUTANTS = (
    Mutant(
        name="fill_does_not_wait",
        breaks="fill_ writes while the stream still works on the tensor, which overwrites it.",
        file="backend_template/ops/own/fills.cpp",
        old="  core::drain(index);\n  if (self.numel() == 1) {",
        new="  if (self.numel() == 1) {",
        found_by="OrderTest.FillingWaitsForTheStream",
    ),
    Mutant(
        name="a_factory_leaves_its_device_current",
        breaks="torch.empty(1, device='acme:1') makes device 1 the thread's.",
        file="backend_template/ops/tensors/factories.cpp",
        old="    is_other_ = true;\n",
        new="",
        found_by="tests/python/ops/test_factories.py::"
        "test_empty_tensors_are_on_the_device_that_was_asked_for",
    ),
    Mutant(
        name="only_the_first_device_is_drained",
        breaks="An operator over two devices' tensors reads the second one's before its stream has "
        "written them.",
        file="backend_template/ops/in_place/kernel_call.cpp",
        old="    if (waited == device) continue;",
        new="    if (waited) continue;",
        found_by="OrderTest.AConvertingCopyWaitsForTheStreamsOfBothDevices",
    ),
    Mutant(
        name="an_alias_holds_a_storage_and_not_its_memory",
        breaks="A CPU kernel that keeps what it was lent reads memory that was given to others, "
        "once the tensor was resized.",
        file="backend_template/ops/in_place/alias.cpp",
        old="  if (C10_LIKELY(owner.get() == data)) return owner;\n",
        new="",
        found_by="EngineTest.AnAliasKeepsTheMemoryThatItsStorageHasLost",
    ),
    Mutant(
        name="an_alias_that_is_kept_is_lent_again",
        breaks="A kernel that keeps a tensor finds another one's numbers in it.",
        file="backend_template/ops/in_place/spare_aliases.cpp",
        old="  if (!alias.getIntrusivePtr().is_uniquely_owned() ||\n",
        new="  if (\n",
        found_by="EngineTest.WhatIsKeptOfAnAliasIsNotLentAgain",
    ),
    Mutant(
        name="an_alias_is_lent_with_what_a_kernel_gave_it",
        breaks="A tensor has the gradient, or the names, of one that was lent before.",
        file="backend_template/ops/in_place/spare_aliases.cpp",
        old="      !tensor_fields::has_nothing_else(*alias.unsafeGetTensorImpl())) {",
        new="      false) {",
        found_by="EngineTest.WhatAKernelDoesToAnAliasIsNotLentAgain",
    ),
    Mutant(
        name="what_a_kernel_keeps_of_a_replay_is_nobodys",
        breaks="A CPU kernel that keeps what a replay lent it reads memory that was given to "
        "others, once the graph is gone.",
        file="backend_template/ops/recording/recorded_loans.cpp",
        old="new owner(open_.pool_owner())",
        new="new owner()",
        found_by="tests/python/graphs/test_graph_memory.py::"
        "test_a_kernel_may_keep_what_a_replay_lent_it",
    ),
    Mutant(
        name="what_is_written_to_a_part_goes_to_the_front",
        breaks="An operator over copies that writes a view writes to the beginning of its storage.",
        file="backend_template/ops/copies/stage.cpp",
        old="  written_.add({bytes.begin + begin_, bytes.end + begin_});\n",
        new="  written_.add(bytes);\n",
        found_by="FallbackTest.CopiesOnlyWhatAViewCovers",
    ),
    Mutant(
        name="the_last_element_is_not_staged",
        breaks="An operator over copies neither reads nor writes the last element of a view.",
        file="backend_template/ops/copies/byte_ranges.cpp",
        old="          (static_cast<size_t>(last) + 1) * item};",
        new="          static_cast<size_t>(last) * item};",
        found_by="FallbackTest.CopiesArgumentsInAndResultsOut",
    ),
    Mutant(
        name="the_widest_dtype_is_ignored",
        breaks="Autocast casts addcmul, cat and the others that promote to bfloat16 where one "
        "argument is float32.",
        file="backend_template/ops/autocast.cpp",
        old="KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)",
        new="KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)",
        found_by="tests/python/amp/test_rules.py::test_promoted_to_the_widest",
    ),
    Mutant(
        name="an_input_with_other_memory_goes_unseen",
        breaks="A replay reads the memory that an input had at the capture, though the tensor has "
        "other memory by now.",
        file="backend_template/ops/recording/recorded_loans.cpp",
        old="      open_.program()->keep_input(storage, storage.data());\n",
        new="      open_.program()->forget_input(storage.unsafeGetStorageImpl());\n",
        found_by="tests/python/graphs/test_graph_memory.py::"
        "test_an_input_that_got_other_memory_is_refused",
    ),
    Mutant(
        name="the_way_back_of_a_gru_goes_forward",
        breaks="The second direction of a bidirectional GRU or RNN reads the steps from the first.",
        file="backend_template/ops/recurrent/recurrent_steps.cpp",
        old="way.is_reversed ? steps.size() - 1 - i : i;",
        new="way.is_reversed && steps.empty() ? 0 : i;",
        found_by="tests/python/ops/test_recurrent_layers.py::test_equals_the_cpu",
    ),
    Mutant(
        name="the_states_of_packed_sequences_are_in_the_order_of_their_ends",
        breaks="The last states that a layer over packed sequences returns are of other sequences.",
        file="backend_template/ops/recurrent/recurrent_steps.cpp",
        old="  std::reverse(ended.begin(), ended.end());\n",
        new="",
        found_by="tests/python/ops/test_recurrent_layers.py::test_packed_sequences_equal_the_cpus",
    ),
    Mutant(
        name="a_fused_step_does_not_wait",
        breaks="A fused optimizer step reads parameters that the stream has yet to write.",
        file="backend_template/ops/on_pointers/fused_optimizers.cpp",
        old="(is_in_order(others) && ...) && ready(self[0]);",
        new="(is_in_order(others) && ...);",
        found_by="tests/python/ops/test_fused_optimizers.py::test_a_step_waits_for_the_stream",
    ),
    Mutant(
        name="a_stub_does_not_wait",
        breaks="A kernel writes its out= before the old bytes arrive there, as it grew.",
        file="backend_template/ops/on_pointers/stubs.h",
        old="core::drain(device_index(first));",
        new="static_cast<void>(device_index(first));",
        found_by="tests/python/ops/test_pointer_kernels.py"
        "::test_a_larger_out_does_not_get_its_old_bytes",
    ),
    Mutant(
        name="an_operators_own_time_is_all_of_its_time",
        breaks="The operator report counts the time of a called operator for its caller too.",
        file="backend_template/ops/report/call_watch.cpp",
        old="is_here ? total - made.inner_ns : 0",
        new="is_here ? total : 0",
        found_by="tests/python/operators/test_operator_report.py::"
        "test_an_operators_own_time_is_without_those_that_it_calls",
    ),
    Mutant(
        name="a_fallback_is_counted_twice",
        breaks="torch.acme.fallback_stats() says two calls for each.",
        file="backend_template/ops/copies/fallback_counts.cpp",
        old="  ++counts_.calls;",
        new="  counts_.calls += 2;",
        found_by="tests/python/operators/test_operator_report.py::"
        "test_what_is_copied_and_waited_for_is_what_the_trace_has",
    ),
    Mutant(
        name="a_capture_hides_the_kernels_of_fake_tensors",
        breaks="torch.compile inside a capture ends in a RecursionError, or runs a custom operator "
        "on fake tensors.",
        file="backend_template/ops/recording/operator_kind.cpp",
        old="    return is_composed(op) && (op.hasKernelForDispatchKey(c10::DispatchKey::Meta) ||",
        new="    return false && (op.hasKernelForDispatchKey(c10::DispatchKey::Meta) ||",
        found_by="tests/python/graphs/test_capture.py::test_fake_tensors_stay_fake_in_a_capture",
    ),
    Mutant(
        name="a_running_variance_is_that_of_the_batch",
        breaks="SyncBatchNorm's running variance is too small, as of a population.",
        file="backend_template/ops/own/sync_batch_norm.cpp",
        old="  update(running_var, squares / (count - 1), momentum);",
        new="  update(running_var, squares / count, momentum);",
        found_by="tests/python/ops/test_sync_batch_norm.py::test_of_parts_as_of_the_whole",
    ),
    Mutant(
        name="a_tolerance_leaves_the_usual_one_beside_it",
        breaks="Without float64, matrix_rank with tol=0 counts by the usual relative tolerance.",
        file="backend_template/ops/own/without_float64.cpp",
        old='    if (name == "tol") call.rtol = 0.;',
        new='    if (name == "none") call.rtol = 0.;',
        found_by="tests/python/ops/test_without_float64.py::test_it_computes_as_the_cpu_does",
    ),
)
