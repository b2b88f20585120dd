"""Defects of generators/: the methods, the scaffold and the loader."""

from mutation.mutant import Mutant

MUTANTS = (
    Mutant(
        name="a_fake_tensor_is_elsewhere",
        breaks="torch.compile takes the wrong branch of `if x.is_acme`.",
        file="generators/methods/tensor_methods.cpp",
        old="  return THPVariable_Unpack(tensor).unsafeGetTensorImpl()->is_privateuseone();",
        new="  return THPVariable_Unpack(tensor).unsafeGetTensorImpl()->device_type() == "
        "c10::kPrivateUse1;",
        found_by="tests/python/test_tensor_methods.py::test_fake_tensors_are_where_they_say",
    ),
    Mutant(
        name="a_module_moves_by_halves",
        breaks="A module with a buffer of an unsupported dtype is left with its parameters on the "
        "device and the rest on the CPU.",
        file="backend_template/module/_outback/module_methods.py",
        old="    for tensors in (module.named_parameters(), module.named_buffers()):",
        new="    for tensors in (module.named_parameters(),):",
        found_by="tests/python/methods/test_storage_methods.py::"
        "test_a_module_with_an_unsupported_dtype_does_not_move_by_halves",
    ),
    Mutant(
        name="a_sequence_goes_to_the_current_device",
        breaks="sequence.acme() moves a sequence away that is on another device of the backend.",
        file="backend_template/module/_outback/packed_sequence.py",
        old="    if device.type != name:",
        new="    if device == data.device:",
        found_by="tests/python/methods/test_packed_sequence_methods.py::"
        "test_without_a_device_it_stays_on_the_one_it_is_on",
    ),
    Mutant(
        name="a_sequence_of_the_cpu_stays_there",
        breaks="sequence.acme() does not move a sequence that is on the CPU.",
        file="backend_template/module/_outback/packed_sequence.py",
        old="    empty = torch.empty(0, dtype=data.dtype, device=data.device)",
        new="    empty = torch.empty(0, dtype=data.dtype, device=name)",
        found_by="tests/python/methods/test_packed_sequence_methods.py::"
        "test_all_but_the_batch_sizes_move",
    ),
    Mutant(
        name="the_scaffolds_derivative_is_wrong",
        breaks="In every new project, the example operator trains with wrong gradients.",
        file="generators/project/src/kernels.cpp",
        old="    return {grads[0] * scale * s * (1 + x * (1 - s)), at::Tensor()};",
        new="    return {grads[0] * scale * s * (1 + (1 - s)), at::Tensor()};",
        found_by="tests/python/ops/test_scaffold_operator.py::test_its_derivative_is_right",
    ),
    Mutant(
        name="any_torch_of_that_major_will_do",
        breaks="A package that was built for torch 2.12 is loaded into 2.13, and crashes.",
        file="generators/loader/_loading.py",
        old="    if _TORCH not in halves:",
        new="    if not halves:",
        found_by="tests/package/test_import.py::test_plain_import_names_the_other_torch",
    ),
)
