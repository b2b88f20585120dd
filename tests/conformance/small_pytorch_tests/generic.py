"""Device-generic tests as PyTorch writes them, with each way in which one can end."""

import ctypes
import os
import time
import unittest

import torch
from torch.testing._internal.common_device_type import (
    dtypes,
    expectedFailure,
    instantiate_device_type_tests,
    onlyCPU,
    onlyCUDA,
)
from torch.testing._internal.common_utils import TestCase, parametrize, run_tests


class TestGeneric(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.set_up = True

    def test_passes(self, device):
        self.assertTrue(self.set_up)
        self.assertEqual(torch.ones(2, device=device).sum().item(), 2)

    @dtypes(torch.float32, torch.int64, torch.float64)
    def test_passes_with_dtypes(self, device, dtype):
        self.assertEqual(torch.ones(2, device=device, dtype=dtype).dtype, dtype)

    @parametrize("shape", [(2,), (2, 3)])
    def test_passes_with_parameters(self, device, shape):
        self.assertEqual(torch.ones(shape, device=device).shape, shape)

    def test_a_backend_is_loaded(self, device):
        of_a_backend = torch._C._get_privateuse1_backend_name() != "privateuseone"
        self.assertEqual(of_a_backend, self.device_type != "cpu")

    def test_fails_on_the_device(self, device):
        self.assertEqual(self.device_type, "cpu")

    def test_fails_with_values(self, device):
        expected = torch.zeros(2) if self.device_type == "cpu" else torch.ones(2)
        self.assertEqual(torch.zeros(2, device=device), expected)

    def test_fails_in_a_subtest(self, device):
        with self.subTest(part=1):
            self.assertEqual(self.device_type, "cpu")

    def test_fails_on_both(self, device):
        self.fail("it fails everywhere")

    def test_fails_on_the_cpu(self, device):
        self.assertNotEqual(self.device_type, "cpu")

    def test_fails_where_the_cpu_skips(self, device):
        if self.device_type == "cpu":
            self.skipTest("not on the CPU")
        self.fail("an accelerator's")

    def test_lacks_a_kernel(self, device):
        if self.device_type != "cpu":
            try:
                raise NotImplementedError("Could not run 'aten::nothing'")
            except NotImplementedError as error:
                raise Exception("Caused by sample input at index 0") from error

    @onlyCPU
    def test_is_of_the_cpu(self, device):
        pass

    @onlyCUDA
    def test_is_of_cuda(self, device):
        pass

    @unittest.expectedFailure
    def test_is_expected_to_fail(self, device):
        self.fail("as expected")

    @unittest.expectedFailure
    def test_is_expected_to_fail_on_the_cpu(self, device):
        self.assertNotEqual(self.device_type, "cpu")

    @expectedFailure("acme")
    def test_is_expected_to_fail_on_the_device(self, device):
        pass

    def test_segfaults_on_the_device(self, device):
        if self.device_type != "cpu":
            ctypes.string_at(0)

    def test_aborts_on_both(self, device):
        os.abort()

    def test_hangs_on_the_device(self, device):
        if self.device_type != "cpu":
            time.sleep(3600)

    def test_runs_after_the_others(self, device):
        pass


class TestOfTheCPU(TestCase):
    def test_has_no_twin(self, device):
        pass


class TestWithoutDevices(TestCase):
    def test_is_no_test_of_a_device(self):
        self.fail("it does not run")


instantiate_device_type_tests(TestGeneric, globals())
instantiate_device_type_tests(TestOfTheCPU, globals(), only_for="cpu")

if __name__ == "__main__":
    run_tests()
