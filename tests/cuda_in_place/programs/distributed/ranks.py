"""What programs of several processes begin with: `from ranks import *`."""

import os
import sys
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

__all__ = [
    *(
        "Any",
        "device",
        "dist",
        "finish",
        "get",
        "init",
        "os",
        "put",
        "rank",
        "size",
        "store",
        "sys",
    ),
    *("timedelta", "torch"),
]

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
if os.environ.get("DEVICE") != "cuda":
    import torch_acme  # noqa: F401
device = torch.device(os.environ.get("DEVICE", "acme"), rank)
torch.accelerator.set_device_index(rank)
store = dist.FileStore(os.environ["STORE"], size)


def init(*arguments: Any, **options: Any) -> Any:
    """The default group; what has its tensors of the device."""
    options.setdefault("timeout", timedelta(seconds=60))
    dist.init_process_group(*arguments, store=store, rank=rank, world_size=size, **options)
    return dist.group.WORLD._get_backend(device) if device.type == "acme" else None


def put(*values: float, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """On the device, without a kernel."""
    return torch.tensor(values, dtype=torch.float64).to(dtype).to(device)


def get(tensor: torch.Tensor) -> list[Any]:
    return tensor.cpu().tolist()


def finish() -> None:
    """Without the end of the interpreter, which torch's autograd threads may not survive."""
    if dist.is_initialized():
        dist.destroy_process_group()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
