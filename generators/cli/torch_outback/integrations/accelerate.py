"""Hugging Face accelerate, whose last case for a device that it does not know is torch.cuda: the
device takes that place. accelerate calls several processes on it MULTI_GPU."""

import functools
import importlib
import sys
from typing import Any

import torch

from .changes import Change, listed_beside, loads_by_index, torch_of
from .device import Device

_GROUP = "outback"  # the name of Outback's process group, of the device and of the CPU


def _utils() -> Any:
    return importlib.import_module("accelerate.utils")


def _default_device(before: Any, device: Device) -> Any:
    return property(lambda self: torch.device(device.name))


def _prepare_backend(before: Any, device: Device) -> Any:
    @functools.wraps(before)
    def prepare(
        self: Any, cpu: bool = False, sagemaker_dp: bool = False, backend: str | None = None
    ) -> Any:
        utils = _utils()
        rank = utils.get_int_from_env(["LOCAL_RANK"], -1)
        if cpu or sagemaker_dp or rank == -1 or not _is_meant(self.device, device):
            return before(self, cpu, sagemaker_dp, backend)
        count = device.module.device_count()
        if rank >= count:
            raise RuntimeError(
                f"there is no device for process {rank} of this machine: {device.name} has {count} "
                f"here, so start {count} at most"
            )
        # The process group is made after this, for the current device.
        device.module.set_device(rank)
        return backend or _GROUP, utils.DistributedType.MULTI_GPU

    return prepare


def _set_device(before: Any, device: Device) -> Any:
    @functools.wraps(before)
    def set_device(self: Any) -> None:
        if self.backend is None or self._cpu or not _is_meant(self.device, device):
            before(self)
            return
        self.device = device.of(self.local_process_index)
        device.module.set_device(self.device)

    return set_device


def _is_meant(chosen: torch.device | None, device: Device) -> bool:
    """`chosen` is what ACCELERATE_TORCH_DEVICE says."""
    return chosen is None or chosen.type == device.name


def _get_grad_scaler(before: Any, device: Device) -> Any:
    @functools.wraps(before)
    def get_grad_scaler(distributed_type: Any = None, **named: Any) -> Any:
        if distributed_type == _utils().DistributedType.FSDP:
            from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler

            return ShardedGradScaler(device=device.name, **named)
        return torch.amp.GradScaler(device.name, **named)

    return get_grad_scaler


def _get_current_device_type(before: Any, device: Device) -> Any:
    """For notebook_launcher."""
    return lambda: (device.name, "MULTI_GPU")


def _is_cuda_available(before: Any, device: Device) -> Any:
    return device.module.is_available


def is_too_late() -> bool:
    """Whether an Accelerator has chosen its device, which it does once in a process."""
    state = getattr(sys.modules.get("accelerate.state"), "PartialState", None)
    return state is not None and bool(state._shared_state)


CHANGES = (
    Change("accelerate.utils.imports", "is_cuda_available", _is_cuda_available),
    Change("accelerate.utils.imports", "torch", torch_of),
    Change("accelerate.utils.environment", "get_current_device_type", _get_current_device_type),
    Change("accelerate.utils.dataclasses", "torch", torch_of),
    Change("accelerate.utils.memory", "torch", torch_of),
    Change("accelerate.utils.modeling", "torch", torch_of),
    Change("accelerate.utils.modeling", "get_grad_scaler", _get_grad_scaler),
    Change("accelerate.utils.modeling", "safe_load_file", loads_by_index),
    Change("accelerate.utils.modeling", "safe_open", loads_by_index),
    Change("accelerate.utils.offload", "safe_open", loads_by_index),
    Change("accelerate.utils.random", "torch", torch_of),
    Change("accelerate.checkpointing", "torch", torch_of),
    Change("accelerate.checkpointing", "load_model", loads_by_index),
    Change("accelerate.state", "PartialState.default_device", _default_device),
    Change("accelerate.state", "PartialState._prepare_backend", _prepare_backend),
    Change("accelerate.state", "PartialState.set_device", _set_device),
    Change("accelerate.accelerator", "Accelerator.__init__", listed_beside("xpu")),
    Change("accelerate.commands.config.default", "torch", torch_of),
    Change("accelerate.commands.env", "torch", torch_of),
    Change("accelerate.commands.launch", "torch", torch_of),
)
