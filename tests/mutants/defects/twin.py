"""Defects of what serves a device that shares its memory with one of PyTorch's own (core/twin)."""

from mutation.mutant import Mutant

MUTANTS = (
    Mutant(
        name="a_twin_without_a_kernel_is_asked_for_it",
        breaks="An operator that CUDA has no kernel of fails, though it could run over copies.",
        file="backend_template/ops/in_place/kernel_call.cpp",
        old="if (!has_kernel_ || has_kernel_(chosen)) target_ = &chosen;",
        new="target_ = &chosen;",
        found_by="TwinOperatorsTest.WhatTheTwinLacksRunsOverCopies",
    ),
    Mutant(
        name="a_number_for_a_mask_counts_the_mask",
        breaks="x[mask] = number waits for the device, which it does not on torch.cuda.",
        file="backend_template/ops/own/masked_assignment.cpp",
        old="if (has_twin(self) && !accumulate) {",
        new="if (has_twin(self) && accumulate) {",
        found_by="TwinOperatorsTest.ANumberForAMaskDoesNotCountTheMask",
    ),
    Mutant(
        name="writes_through_the_twin_are_not_counted",
        breaks="Backward uses a saved tensor that was changed through as_cuda(), without an error.",
        file="backend_template/ops/own/interop.cpp",
        old="    result.unsafeGetTensorImpl()->set_version_counter(from.version_counter());\n",
        new="",
        found_by="TwinOperatorsTest.BothSidesSeeWhatOneWrites",
    ),
    Mutant(
        name="the_first_owner_frees_shared_memory",
        breaks="Memory of the twin's that two tensors own goes with the first of them.",
        file="backend_template/core/memory/twin_memory.cpp",
        old="  owned->owners.fetch_add(1, std::memory_order_relaxed);\n",
        new="",
        found_by="TwinTest.MemoryIsTheTwinsUntilItsLastOwnerGoes",
    ),
    Mutant(
        name="shared_storage_may_be_resized",
        breaks="A tensor of torch.cuda's gets other memory by resize_(), and the one that shares "
        "it does not.",
        file="backend_template/core/memory/twin_memory.cpp",
        old="  storage.unsafeGetStorageImpl()->set_resizable(false);\n",
        new="",
        found_by="TwinOperatorsTest.StorageThatIsSharedIsNotResized",
    ),
    Mutant(
        name="a_driver_s_error_says_no_place",
        breaks="An illegal address in the middle of training names no operator and no device.",
        file="backend_template/ops/in_place/kernel_call.cpp",
        old="if (!error.context().empty()) return;",
        new="if (error.context().empty()) return;",
        found_by="TwinOperatorsTest.ADriversErrorNamesOperatorAndDevice",
    ),
    Mutant(
        name="each_stream_is_taken_for_the_last_one",
        breaks="Copies are enqueued on the stream that the thread used before.",
        file="backend_template/core/streams/twin_stream.cpp",
        old="if (last.device == device && last.id == theirs.id()) return last.handle;",
        new="if (last.device == device) return last.handle;",
        found_by="TwinTest.TheRuntimeWorksOnTheTwinsStreams",
    ),
    Mutant(
        name="cudnns_dropout_never_begins_anew",
        breaks="After torch.manual_seed() an LSTM on the memory of torch.cuda drops out otherwise "
        "than after the same seed before.",
        file="backend_template/ops/cudnn/cudnn_layers.cpp",
        old="    if (state.buffer.defined() && state.seedings == seedings) return state.buffer;",
        new="    if (state.buffer.defined()) return state.buffer;",
        found_by="TwinOperatorsTest.CudnnsDropoutGoesOnUntilItsGeneratorIsSeeded",
    ),
)
