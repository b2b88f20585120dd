"""PyTorch's device-generic test base takes this backend: what it decorates runs here, by its rules.

`instantiate_device_type_tests` makes a class of PrivateUse1TestBase out of ours, as it does of
PyTorch's own test files.
"""

import functools
import inspect

import pytest
import torch
from torch.testing import make_tensor
from torch.testing._internal.common_device_type import (
    OpDTypes,
    PrivateUse1TestBase,
    deviceCountAtLeast,
    dtypes,
    dtypesIfPRIVATEUSE1,
    expectedFailureMeta,
    instantiate_device_type_tests,
    onlyCPU,
    onlyNativeDeviceTypes,
    onlyPRIVATEUSE1,
    ops,
    precisionOverride,
    skipPRIVATEUSE1,
    skipPRIVATEUSE1If,
    tol,
    toleranceOverride,
)
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db, modules
from torch.testing._internal.common_optimizers import optim_db, optims
from torch.testing._internal.common_utils import TestCase, noncontiguous_like, parametrize

# What operators do where the memory is apart is asked by test_opinfo_subset.py, of these and more.
pytestmark = pytest.mark.any_runtime


@pytest.fixture(autouse=True)
def stacks_without_sources(monkeypatch):
    """For each sample torch looks for the test in the stack. It leaves out nothing that is read
    there, and saves the search for the source lines of every frame: most of these tests' time."""
    monkeypatch.setattr(inspect, "stack", functools.partial(inspect.stack, 0))


OPS = {
    "add", "mul", "mm", "sum", "cat", "sort", "index_select", "masked_fill", "nonzero", "where",
    "linalg.solve", "softmax", "nn.functional.conv2d", "nn.functional.layer_norm",
}  # fmt: skip
MODULES = {"nn.Linear", "nn.Conv2d", "nn.BatchNorm2d", "nn.LSTM", "nn.CrossEntropyLoss"}
OPTIMIZERS = {"SGD", "AdamW", "Adagrad"}
FIRST_SAMPLES = 3

some_ops = [info for info in op_db if info.name in OPS]
refusing_ops = [info for info in some_ops if info.error_inputs_func is not None]
some_modules = [info for info in module_db if info.name in MODULES]
some_optimizers = [info for info in optim_db if info.name in OPTIMIZERS]


def first(samples):
    return [sample for sample, _ in zip(samples, range(FIRST_SAMPLES), strict=False)]


class TestDeviceType(TestCase):
    def on(self, device: str, *tensors: torch.Tensor) -> None:
        for tensor in tensors:
            self.assertEqual(tensor.device, torch.device(device))

    @ops(some_ops, allowed_dtypes=(torch.float32, torch.complex64, torch.int64, torch.bool))
    def test_operators_agree_with_the_cpu(self, device, dtype, op):
        for sample in first(op.sample_inputs(device, dtype)):
            result = op(sample.input, *sample.args, **sample.kwargs)
            host = sample.transform(lambda x: x.cpu() if isinstance(x, torch.Tensor) else x)
            self.assertEqual(result, op(host.input, *host.args, **host.kwargs), exact_device=False)

    @ops(some_ops, dtypes=OpDTypes.any_one)
    def test_operators_take_what_is_not_contiguous(self, device, dtype, op):
        for sample in first(op.sample_inputs(device, dtype)):
            gaps = sample.noncontiguous()
            result = op(gaps.input, *gaps.args, **gaps.kwargs)
            self.assertEqual(result, op(sample.input, *sample.args, **sample.kwargs))

    @ops(refusing_ops, dtypes=OpDTypes.none)
    def test_operators_raise_where_the_cpu_does(self, device, op):
        for bad in op.error_inputs(device):
            sample = bad.sample_input
            with self.assertRaisesRegex(bad.error_type, bad.error_regex):
                op(sample.input, *sample.args, **sample.kwargs)

    @modules(some_modules, allowed_dtypes=(torch.float32,))
    def test_modules_run_and_differentiate(self, device, dtype, module_info, training):
        inputs = module_info.module_inputs_func(
            module_info, device=device, dtype=dtype, requires_grad=True, training=training
        )
        for module_input in first(inputs):
            made, called = module_input.constructor_input, module_input.forward_input
            module = module_info.module_cls(*made.args, **made.kwargs).to(device).train(training)
            results = module(*called.args, **called.kwargs)
            result = results[0] if isinstance(results, tuple) else results
            self.on(device, result)
            result.sum().backward()
            self.on(device, *(parameter.grad for parameter in module.parameters()))

    @optims(some_optimizers, dtypes=[torch.float32])
    def test_optimizers_make_less_of_a_loss(self, device, dtype, optim_info):
        for configuration in optim_info.optim_inputs_func(device=device):
            weight = torch.nn.Parameter(torch.ones(3, 4, device=device, dtype=dtype))
            options = {"lr": 1e-2} | configuration.kwargs
            if options.pop("maximize", False):
                continue
            optimizer = optim_info.optim_cls([weight], **options)
            losses = []
            for _ in range(3):
                optimizer.zero_grad()
                losses.append(weight.square().sum())
                losses[-1].backward()
                optimizer.step()
            self.assertLess(losses[-1].item(), losses[0].item())
            self.on(device, weight, weight.grad)

    @dtypes(torch.float32, torch.bfloat16, torch.complex64, torch.int64, torch.bool)
    def test_tensors_of_every_kind_are_made_on_the_device(self, device, dtype):
        for noncontiguous in (False, True):
            x = make_tensor((3, 4), device=device, dtype=dtype, noncontiguous=noncontiguous)
            self.on(device, x)
            self.assertEqual(x.is_contiguous(), not noncontiguous)
            self.assertEqual(x.cpu().to(device), x)
        self.assertFalse(noncontiguous_like(x.contiguous()).is_contiguous())

    @dtypes(torch.float64)
    @dtypesIfPRIVATEUSE1(torch.float32, torch.int32)
    def test_dtypes_of_our_own_replace_the_general_ones(self, device, dtype):
        self.assertIn(dtype, (torch.float32, torch.int32))
        self.assertEqual(torch.ones(2, device=device, dtype=dtype).sum().item(), 2)

    @precisionOverride({torch.float32: 0.5})
    @dtypes(torch.float32)
    def test_a_precision_can_be_set(self, device, dtype):
        self.assertEqual(torch.ones(2, device=device), torch.full((2,), 1.4, device=device))

    @toleranceOverride({torch.float32: tol(atol=0.5, rtol=0)})
    @dtypes(torch.float32)
    def test_a_tolerance_can_be_set(self, device, dtype):
        self.assertEqual(torch.ones(2, device=device), torch.full((2,), 1.4, device=device))

    @parametrize("shape", [(), (0,), (2, 3)])
    def test_parameters_multiply_tests(self, device, shape):
        self.assertEqual(torch.ones(shape, device=device).shape, torch.Size(shape))

    @onlyPRIVATEUSE1
    @onlyNativeDeviceTypes
    @expectedFailureMeta
    def test_this_is_the_device(self, device):
        self.assertEqual(self.device_type, "acme")
        self.assertEqual(device, f"acme:{torch.acme.current_device()}")
        self.assertIs(self.device_mod, torch.acme)
        self.on(device, torch.empty(1, device=device), torch.empty(1, device=self.device_type))

    @deviceCountAtLeast(1)
    def test_all_devices_are_offered(self, devices):
        self.assertEqual(len(devices), torch.acme.device_count())
        self.assertEqual(devices[0], self.get_primary_device())

    @deviceCountAtLeast(2)
    def test_tensors_move_between_devices(self, devices):
        x = make_tensor((5,), device=devices[0], dtype=torch.float32)
        y = x.to(devices[1])
        self.on(devices[1], y)
        self.assertEqual(x, y, exact_device=False)

    @skipPRIVATEUSE1
    def test_skipped_everywhere_on_privateuse1(self, device):
        self.fail("ran in spite of skipPRIVATEUSE1")

    @skipPRIVATEUSE1If(True, "because of a condition")
    def test_skipped_by_a_condition(self, device):
        self.fail("ran in spite of skipPRIVATEUSE1If")

    @onlyCPU
    def test_skipped_because_it_is_the_cpus(self, device):
        self.fail("ran on another device than the CPU")


# PyTorch learns the device's name at the first test of a set, whose order differs from process to
# process. Known before, dtypesIfPRIVATEUSE1 holds for that test as well.
PrivateUse1TestBase.setUpClass()
instantiate_device_type_tests(TestDeviceType, globals(), only_for="acme")


def instantiated() -> type:
    (found,) = (value for name, value in globals().items() if name.startswith("TestDeviceType"))
    return found


def test_the_base_is_pytorchs_and_names_tests_after_the_device():
    bases = [base.__name__ for base in instantiated().__mro__]
    assert "PrivateUse1TestBase" in bases
    names = {name for name in vars(instantiated()) if name.startswith("test_")}
    assert "test_this_is_the_device_acme" in names
    assert "test_operators_agree_with_the_cpu_mm_acme_float32" in names
    assert "test_modules_run_and_differentiate_nn_Linear_acme_float32" in names
    assert "test_optimizers_make_less_of_a_loss_AdamW_acme_float32" in names
    assert "test_dtypes_of_our_own_replace_the_general_ones_acme_int32" in names
    assert all("acme" in name for name in names)


@pytest.mark.parametrize(
    "name",
    [
        "test_skipped_everywhere_on_privateuse1_acme",
        "test_skipped_by_a_condition_acme",
        "test_skipped_because_it_is_the_cpus_acme",
    ],
)
def test_its_skips_skip(name):
    result = instantiated()(name).defaultTestResult()
    instantiated().setUpClass()
    instantiated()(name).run(result)
    assert len(result.skipped) == 1
    assert not result.failures + result.errors
