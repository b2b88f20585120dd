"""Defects of registration/: names, device indices, the one call, and its Python half."""

from mutation.mutant import Mutant

MUTANTS = (
    Mutant(
        name="leading_zeros_are_an_index",
        breaks='"acme:01" is device 1, where torch.device refuses it.',
        file="backend_template/core/devices/device_index.cpp",
        old="  if (!is_number || (digits.size() > 1 && digits.front() == '0')) "
        "refuse_text(device, rules);",
        new="  if (!is_number) refuse_text(device, rules);",
        found_by="DeviceIndexTest.MalformedNamesSayWhatWasExpected",
    ),
    Mutant(
        name="the_last_amp_dtype_is_the_default",
        breaks="torch.autocast without a dtype casts to the last that the vendor listed, not the "
        "first.",
        file="registration/registration.cpp",
        old="options.amp_dtypes.front());",
        new="options.amp_dtypes.back());",
        found_by="RegistrationTest.TheFirstRegistrationStays",
    ),
    Mutant(
        name="each_thread_has_a_lock_of_its_own",
        breaks="Two threads that load the backend at once both register it, which ends them.",
        file="registration/registration.cpp",
        old="  static std::mutex one_at_a_time;",
        new="  static thread_local std::mutex one_at_a_time;",
        found_by="ConcurrentRegistrationTest.EachCallReturnsWithTheBackendRegistered",
    ),
    Mutant(
        name="an_early_lookup_is_kept",
        breaks="torch.get_device_module() goes on answering the CPU's where it was asked before "
        "the backend was there.",
        file="registration/python/register.cpp",
        old='  torch.attr("get_device_module").attr("cache_clear")();\n',
        new="",
        found_by="tests/python/test_registration.py::test_a_lookup_that_came_too_early_is_repaired",
    ),
    Mutant(
        name="true_is_device_one",
        breaks="tensor.acme(True), which meant non_blocking, moves the tensor to another device.",
        file="backend_template/python/device_argument.cpp",
        old="  return PyIndex_Check(object.ptr()) != 0 && !PyBool_Check(object.ptr());",
        new="  return PyIndex_Check(object.ptr()) != 0;",
        found_by="tests/python/test_tensor_methods.py::"
        "test_a_wrong_device_is_refused_with_what_was_expected",
    ),
)
