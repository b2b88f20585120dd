"""Tensor.__dlpack_device__, which Outback brings, and what NumPy reads of the device."""

import numpy as np
import pytest
import torch
from torch.utils.dlpack import DLDeviceType

pytestmark = [pytest.mark.turns_on_memory, pytest.mark.turns_on_groups, pytest.mark.turns_on_driver]

VALUES = torch.arange(12.0).reshape(3, 4)


def test_subclasses_may_override_it():
    class Elsewhere(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, arguments=(), named=None):
            if function is torch.Tensor.__dlpack_device__:
                return "elsewhere"
            return super().__torch_function__(function, types, arguments, named or {})

    assert VALUES.acme().as_subclass(Elsewhere).__dlpack_device__() == "elsewhere"
    assert torch.nn.Parameter(VALUES.acme()).__dlpack_device__()[0] == DLDeviceType.kDLExtDev


def test_it_takes_no_arguments():
    with pytest.raises(TypeError, match="takes no arguments"):
        VALUES.acme().__dlpack_device__(1)


def test_other_devices_are_torchs():
    with pytest.raises(ValueError, match="meta"):
        torch.empty(1, device="meta").__dlpack_device__()


# ---- numpy


def test_numpy_reads_a_copy_on_the_cpu():
    x = VALUES.acme()
    y = np.from_dlpack(x, device="cpu")
    assert isinstance(y, np.ndarray) and (y == VALUES.numpy()).all()
    assert (np.from_dlpack(x.t(), device="cpu") == VALUES.t().numpy()).all()


def test_numpy_alone_cannot_read_the_device():
    with pytest.raises((BufferError, RuntimeError), match=r"[dD]evice"):
        np.from_dlpack(VALUES.acme())


def test_pinned_memory_is_the_cpus():
    pinned = VALUES.pin_memory()
    assert pinned.__dlpack_device__() == (DLDeviceType.kDLCPU, 0)
    assert (np.from_dlpack(pinned) == VALUES.numpy()).all()
