"""Defects of backend_template/ops: own kernels, redispatch, fallback and recording."""

from mutation.mutant import Mutant

MUTANTS = (
    Mutant(
        name="a_copy_loses_the_negative_bit",
        breaks="Copying a lazy negation copies the bytes under it: the sign is lost.",
        file="backend_template/ops/native/copies.cpp",
        old="         dst.is_conj() == src.is_conj() && dst.is_neg() == src.is_neg() &&",
        new="         dst.is_conj() == src.is_conj() &&",
        found_by="tests/python/ops/test_copies.py::test_copies_resolve_conj_and_neg",
    ),
    Mutant(
        name="fill_does_not_wait",
        breaks="fill_ writes while the stream still works on the tensor, which overwrites it.",
        file="backend_template/ops/native/fills.cpp",
        old="  core::drain(index);\n  if (self.numel() == 1) {",
        new="  if (self.numel() == 1) {",
        found_by="tests/python/ops/test_order.py::"
        "test_filling_comes_after_what_the_stream_has_to_do",
    ),
    Mutant(
        name="a_factory_leaves_its_device_current",
        breaks="torch.empty(1, device='acme:1') makes device 1 the thread's.",
        file="backend_template/ops/native/factories.cpp",
        old="    is_other_ = true;\n",
        new="",
        found_by="tests/python/ops/test_factories.py::"
        "test_empty_tensors_are_on_the_device_that_was_asked_for",
    ),
    Mutant(
        name="a_tensor_that_shrinks_loses_its_storage",
        breaks="resize_ to fewer elements gives up the storage that other tensors view.",
        file="backend_template/ops/native/resize.cpp",
        old="  if (size > storage.nbytes()) core::resize_storage(storage, size);",
        new="  if (size != storage.nbytes()) core::resize_storage(storage, size);",
        found_by="tests/python/ops/test_resize.py::test_out_of_the_right_size_keeps_its_memory",
    ),
    Mutant(
        name="only_the_first_device_is_drained",
        breaks="An operator over two devices' tensors reads the second one's before its stream has "
        "written them.",
        file="backend_template/ops/redispatch/cpu_call.cpp",
        old="    if (i == 0 || storages_[i - 1].device != device) core::drain(device.index());",
        new="    if (i == 0) core::drain(device.index());",
        found_by="tests/python/ops/test_order.py::test_a_copy_waits_for_both_devices",
    ),
    Mutant(
        name="running_variances_are_lost",
        breaks="Batch norm on a device that the CPU cannot address never updates running_var.",
        file="backend_template/ops/redispatch/op_facts.cpp",
        old='    {"aten::native_batch_norm", "running_var"},',
        new='    {"aten::native_batch_norm", "running_mean"},',
        found_by="tests/python/ops/test_results.py::"
        "test_running_statistics_are_written_in_every_way",
        on="host-memory-apart",
    ),
    Mutant(
        name="the_last_element_is_not_staged",
        breaks="An operator over copies neither reads nor writes the last element of a view.",
        file="backend_template/ops/fallback/byte_ranges.cpp",
        old="          (static_cast<size_t>(last) + 1) * item};",
        new="          static_cast<size_t>(last) * item};",
        found_by="FallbackTest.CopiesArgumentsInAndResultsOut",
    ),
    Mutant(
        name="each_fallback_is_old_news",
        breaks='The fallback mode "warn" warns of an operator from its second call on, each time.',
        file="backend_template/ops/fallback/policy.cpp",
        old="  return known.insert(op).second;",
        new="  return !known.insert(op).second;",
        found_by="tests/python/ops/test_fallback_modes.py::test_warn_says_each_operator_once",
        on="host-memory-apart",
    ),
    Mutant(
        name="the_widest_dtype_is_ignored",
        breaks="Autocast casts addcmul, cat and the others that promote to bfloat16 where one "
        "argument is float32.",
        file="backend_template/ops/autocast.cpp",
        old="    if (to_ == cast_to::widest) {",
        new="    if (to_ == cast_to::fp32) {",
        found_by="tests/python/amp/test_rules.py::test_promoted_to_the_widest",
    ),
    Mutant(
        name="a_graph_does_not_keep_its_inputs",
        breaks="A replay reads memory that was given to other tensors since the capture.",
        file="backend_template/ops/recording/lent_tensors.cpp",
        old="    open_.program()->keep_input(storage, data);\n",
        new="    open_.program()->forget_input(storage.unsafeGetStorageImpl());\n",
        found_by="tests/python/graphs/test_graph_memory.py::test_inputs_live_as_long_as_the_graph",
    ),
)
