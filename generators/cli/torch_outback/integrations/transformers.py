"""transformers' Trainer, which leaves devices and processes to accelerate, but for a few places."""

import functools
from typing import Any

from .changes import Change, torch_of
from .device import Device


def _is_torch_bf16_gpu_available(before: Any, device: Device) -> Any:
    return device.module.is_bf16_supported


def _setup_devices(before: Any, device: Device) -> Any:
    """A property that is computed once. In one process, the Trainer looks for the devices that it
    knows; accelerate has chosen before that."""

    def setup_devices(self: Any) -> Any:
        chosen = before.func(self)
        state = self.distributed_state
        if state is not None and state.device.type == device.name:
            self._n_gpu = 1
            return state.device
        return chosen

    made = functools.cached_property(setup_devices)
    made.attrname = before.attrname
    return made


def _pipeline(before: Any, device: Device) -> Any:
    """A pipeline's `device` as a number, and none at all, are the CPU where CUDA is not."""

    @functools.wraps(before)
    def init(self: Any, model: Any, *args: Any, **named: Any) -> None:
        given = named.get("device")
        is_placed = getattr(model, "hf_device_map", None) is not None
        if isinstance(given, int) and given >= 0:
            named["device"] = device.of(given)
        elif given is None and not is_placed and not args:
            is_there = model.device.type == device.name
            named["device"] = model.device if is_there else device.of(0)
        before(self, model, *args, **named)

    return init


CHANGES = (
    Change("transformers.pipelines.base", "Pipeline.__init__", _pipeline),
    Change(
        "transformers.utils.import_utils",
        "is_torch_bf16_gpu_available",
        _is_torch_bf16_gpu_available,
    ),
    Change("transformers.training_args", "TrainingArguments._setup_devices", _setup_devices),
    Change("transformers.integrations.accelerate", "torch", torch_of),
    Change("transformers.trainer", "torch", torch_of),
)
