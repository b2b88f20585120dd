"""Tests of a PyTorch whose helpers had more than those of the installed one."""

from torch.testing._internal.common_device_type import instantiate_device_type_tests
from torch.testing._internal.common_utils import TestCase, a_flag_of_old, a_wrapper_of_old

from torch.testing._internal.common_utils import old_tests  # isort: skip

for _ in [] + old_tests:  # noqa: RUF005 (as PyTorch's tests have it)
    raise AssertionError("there are none")

if a_flag_of_old():
    raise AssertionError("it has no value")


class TestOlder(TestCase):
    def test_needs_nothing_of_old(self, device):
        pass

    @a_wrapper_of_old
    def test_is_wrapped(self, device):
        self.fail("it does not run")

    @a_wrapper_of_old(0.05)
    def test_is_wrapped_with_an_argument(self, device):
        self.fail("it does not run")

    def test_asks_for_a_flag(self, device):
        if a_flag_of_old():
            self.fail("it has no value")


instantiate_device_type_tests(TestOlder, globals())
