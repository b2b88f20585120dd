"""Defects of generators/: the methods, the scaffold and the loader."""

from mutation.mutant import Mutant

MUTANTS = (
    Mutant(
        name="a_fake_tensor_is_elsewhere",
        breaks="torch.compile takes the wrong branch of `if x.is_acme`.",
        file="generators/methods/tensor_methods.cpp",
        old="  return THPVariable_Unpack(tensor).unsafeGetTensorImpl()->is_privateuseone();",
        new="  return THPVariable_Unpack(tensor).device().is_privateuseone();",
        found_by="tests/python/test_tensor_methods.py::test_fake_tensors_are_where_they_say",
    ),
    Mutant(
        name="a_module_moves_by_halves",
        breaks="A module with a buffer of an unsupported dtype is left with its parameters on the "
        "device and the rest on the CPU.",
        file="generators/methods/module_methods.cpp",
        old='  for (const char* const list : {"named_parameters", "named_buffers"}) {',
        new='  for (const char* const list : {"named_parameters"}) {',
        found_by="tests/python/methods/test_storage_methods.py::"
        "test_a_module_with_an_unsupported_dtype_does_not_move_by_halves",
    ),
    Mutant(
        name="a_sequence_goes_to_the_current_device",
        breaks="sequence.acme() moves a sequence away that is on another device of the backend.",
        file="generators/methods/packed_sequence_methods.cpp",
        old='py::arg("device") = data.attr("device"));',
        new='py::arg("device") = backend_name());',
        found_by="tests/python/methods/test_packed_sequence_methods.py::"
        "test_without_a_device_it_stays_on_the_one_it_is_on",
    ),
    Mutant(
        name="any_device_of_the_backend_will_do",
        breaks="storage.acme(1) of a storage on device 0 returns it as it is.",
        file="generators/methods/storage_methods.cpp",
        old="  if (is_backend(storage) && storage.device().index() == index) return Py_NewRef(self);",
        new="  if (is_backend(storage)) return Py_NewRef(self);",
        found_by="tests/python/methods/test_storage_methods.py::"
        "test_a_storage_goes_around_all_devices",
    ),
    Mutant(
        name="dlpack_forgets_the_index",
        breaks="A consumer of DLPack takes a tensor of device 1 for one of device 0.",
        file="generators/methods/dlpack.cpp",
        old='return dlpack_device("kDLExtDev", tensor.get_device()).release().ptr();',
        new='return dlpack_device("kDLExtDev", 0).release().ptr();',
        found_by="tests/python/ecosystem/test_dlpack.py::test_the_device_is_named",
    ),
    Mutant(
        name="the_scaffold_zeroes_a_quarter",
        breaks="In every new project, zero_ clears as many bytes as the tensor has elements.",
        file="generators/project/src/kernels.cpp",
        old="self.nbytes(), &zero, 1,",
        new="self.numel(), &zero, 1,",
        found_by="tests/python/ops/test_factories.py::test_filled_tensors_equal_those_of_the_cpu",
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
        file="generators/project/torch_acme/__init__.py",
        old='if torch.__version__.split(".")[:2] != _built_for.split("."):',
        new='if torch.__version__.split(".")[:1] != _built_for.split(".")[:1]:',
        found_by="tests/package/test_import.py::test_plain_import_names_the_other_torch",
    ),
    Mutant(
        name="the_autoload_ends_import_torch",
        breaks="`import torch` fails where the installed backend is for another torch.",
        file="generators/project/_torch_acme_autoload.py",
        old="    except ImportError as error:",
        new="    except ModuleNotFoundError as error:",
        found_by="tests/package/test_import.py::"
        "test_import_torch_survives_a_backend_for_another_torch",
    ),
)
