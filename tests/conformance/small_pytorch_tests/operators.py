"""A device-generic test by op_db."""

import torch
from torch.testing._internal.common_device_type import instantiate_device_type_tests, ops
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_utils import TestCase

NEG = [op for op in op_db if op.name == "neg"]


class TestOperators(TestCase):
    @ops(NEG, allowed_dtypes=(torch.float32, torch.int64))
    def test_is_its_own_inverse(self, device, dtype, op):
        for sample in op.sample_inputs(device, dtype):
            self.assertEqual(-op(sample.input), sample.input)


instantiate_device_type_tests(TestOperators, globals())
