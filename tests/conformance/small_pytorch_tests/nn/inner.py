"""A file in a folder of the folder, which imports its neighbour."""

import neighbour
from torch.testing._internal.common_device_type import instantiate_device_type_tests
from torch.testing._internal.common_utils import TestCase


class TestInner(TestCase):
    def test_passes(self, device):
        self.assertEqual(neighbour.VALUE, 1)


instantiate_device_type_tests(TestInner, globals())
