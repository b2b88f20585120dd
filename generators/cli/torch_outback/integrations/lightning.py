"""Lightning, whose Trainer and Fabric keep a register of accelerators."""

import functools
import importlib
import operator
import warnings
from typing import Any

import torch

from .changes import Change, listed_beside, torch_of
from .device import Device


def _with_device(before: Any, device: Device) -> Any:
    """The register with the device in it."""
    if device.name not in before:
        before.register(device.name, _accelerator(before, device), description=device.name)
    return before


def _accelerator(register: Any, device: Device) -> type:
    """The class of the device, with the base of CUDA's in this register."""
    base = register["cuda"]["accelerator"].__base__

    class DeviceAccelerator(base):  # type: ignore[misc,valid-type]
        def __reduce__(self) -> Any:  # of a class that pickle cannot find by a name
            return _made_again, (base.__module__, device.name)

        def setup_device(self, chosen: torch.device) -> None:
            device.module.set_device(chosen)

        def get_device_stats(self, chosen: Any) -> dict[str, Any]:
            return dict(device.module.memory_stats(chosen))

        def teardown(self) -> None:
            device.module.empty_cache()

        @staticmethod
        def parse_devices(devices: Any) -> list[int]:
            return _indices(devices, device)

        @staticmethod
        def get_parallel_devices(devices: list[int]) -> list[torch.device]:
            return [device.of(each) for each in devices]

        @staticmethod
        def auto_device_count() -> int:
            return int(device.module.device_count())

        @staticmethod
        def is_available() -> bool:
            return bool(device.module.is_available())

        @staticmethod
        def name() -> str:
            return device.name

    return DeviceAccelerator


def _made_again(module: str, name: str) -> Any:
    """The accelerator of that name in the register beside the class of accelerators in `module`."""
    package = importlib.import_module(module.rpartition(".")[0])
    register = getattr(package, "AcceleratorRegistry", None)
    return (package.ACCELERATOR_REGISTRY if register is None else register).get(name)


def _by_name(before: Any, device: Device) -> Any:
    """Of a connector: an instance of the accelerator is what its name is."""

    @functools.wraps(before)
    def check(self: Any, *args: Any, **named: Any) -> None:
        before(self, *args, **named)
        flag = self._accelerator_flag
        if not isinstance(flag, str) and flag.name() == device.name:
            self._accelerator_flag = device.name

    return check


def _sync_ddp(before: Any, device: Device) -> Any:
    """The mean of whole numbers, such as a batch's size, which Gloo has for floats alone."""

    @functools.wraps(before)
    def sync(result: torch.Tensor, group: Any = None, reduce_op: Any = None) -> torch.Tensor:
        is_mean = isinstance(reduce_op, str) and reduce_op.lower() in ("avg", "mean")
        if not is_mean or result.device.type != device.name or result.is_floating_point():
            return torch.as_tensor(before(result, group, reduce_op))
        summed = before(result, group, "sum")
        return torch.as_tensor(summed.copy_(summed / torch.distributed.get_world_size(group)))

    return sync


def _indices(given: Any, device: Device) -> list[int]:
    """Of what a Trainer takes as `devices`: a number of devices, -1 for all, the indices as a list
    or as a text such as "0,1"."""
    count = device.module.device_count()
    try:
        chosen = _numbers(given, count)
    except (TypeError, ValueError):
        chosen = []
    exist = all(0 <= each < count for each in chosen)
    if not chosen or not exist or len(set(chosen)) < len(chosen):
        raise ValueError(
            f"devices={given!r}: expected a number of devices, or different indices of some; "
            f"{device.name} has {count} here, with the indices from 0 to {count - 1}"
        )
    return chosen


def _numbers(given: Any, count: int) -> list[int]:
    """Raises TypeError or ValueError for what has none."""
    if isinstance(given, str):
        numbers = [int(each) for each in given.split(",") if each.strip()]
        if "," in given:
            return numbers
        (given,) = numbers
    if isinstance(given, (list, tuple)):
        return [operator.index(each) for each in given]
    return list(range(count if given == -1 else operator.index(given)))


def _with_scaler(before: Any, device: Device) -> Any:
    """Of FSDP's precision, which makes a scaler for CUDA."""

    @functools.wraps(before)
    def init(self: Any, *args: Any, **named: Any) -> None:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*GradScaler is enabled, but CUDA is not available")
            before(self, *args, **named)
        if getattr(self, "scaler", None) is not None:
            from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler

            self.scaler = ShardedGradScaler(device=device.name)

    return init


def _forward_context(before: Any, device: Device) -> Any:
    """Of FSDP's precision, which names CUDA for autocast."""

    @functools.wraps(before)
    def forward_context(self: Any) -> Any:
        if "mixed" not in self.precision:
            return before(self)
        dtype = torch.bfloat16 if self.precision == "bf16-mixed" else torch.float16
        return torch.autocast(device.name, dtype=dtype)

    return forward_context


def _choose_auto_accelerator(before: Any, device: Device) -> Any:
    return staticmethod(lambda: device.name)


def _register_ddp_hooks(before: Any, device: Device) -> Any:
    """Hooks that the user gives are for CUDA alone, and forgotten elsewhere."""

    @functools.wraps(before)
    def register(self: Any) -> None:
        if self.root_device.type != device.name:
            before(self)
            return
        before.__globals__["_register_ddp_comm_hook"](
            model=self.model,
            ddp_comm_state=self._ddp_comm_state,
            ddp_comm_hook=self._ddp_comm_hook,
            ddp_comm_wrapper=self._ddp_comm_wrapper,
        )

    return register


def _is_out_of_memory(before: Any, device: Device) -> Any:
    @functools.wraps(before)
    def is_out_of_memory(exception: BaseException) -> bool:
        return isinstance(exception, torch.OutOfMemoryError) or bool(before(exception))

    return is_out_of_memory


def _changes(pytorch: str, fabric: str) -> tuple[Change, ...]:
    """Of one of the two packages that Lightning comes as."""
    trainer = f"{pytorch}.trainer.connectors.accelerator_connector"
    connectors = {trainer: "_AcceleratorConnector", f"{fabric}.connector": "_Connector"}
    of_connectors = {
        "_choose_strategy": listed_beside("cuda"),
        "_check_strategy_and_fallback": listed_beside("cuda"),
        "_check_and_init_precision": listed_beside("mps"),
        "_choose_auto_accelerator": _choose_auto_accelerator,
        "_check_config_and_set_final_flags": _by_name,
    }
    of_fsdp = {"__init__": _with_scaler, "forward_context": _forward_context}
    return (
        Change(f"{fabric}.accelerators", "ACCELERATOR_REGISTRY", _with_device),
        Change(f"{pytorch}.accelerators", "AcceleratorRegistry", _with_device),
        *(
            Change(module, f"{owner}.{method}", change)
            for module, owner in connectors.items()
            for method, change in of_connectors.items()
        ),
        Change(f"{fabric}.utilities.distributed", "_sync_ddp", _sync_ddp),
        *(
            Change(f"{package}.plugins.precision.fsdp", f"FSDPPrecision.{method}", change)
            for package in (fabric, pytorch)
            for method, change in of_fsdp.items()
        ),
        Change(f"{fabric}.strategies.ddp", "torch", torch_of),
        Change(f"{pytorch}.strategies.ddp", "torch", torch_of),
        Change(f"{pytorch}.strategies.ddp", "DDPStrategy._register_ddp_hooks", _register_ddp_hooks),
        Change(f"{fabric}.utilities.seed", "torch", torch_of),
        Change(f"{pytorch}.utilities.memory", "torch", torch_of),
        Change(f"{pytorch}.utilities.memory", "is_cuda_out_of_memory", _is_out_of_memory),
    )


CHANGES = _changes("lightning.pytorch", "lightning.fabric")
CHANGES_OF_PYTORCH_LIGHTNING = _changes("pytorch_lightning", "lightning_fabric")
