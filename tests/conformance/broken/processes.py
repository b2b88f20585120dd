"""What several processes share: groups, and tensors in queues."""

from __future__ import annotations

import threading
from multiprocessing.reduction import ForkingPickler

import torch

from .defect import defect


@defect("distributed", "the_fake_group_takes_the_device", says="the group is for ['cpu'")
def fake_groups_leave_the_device_out() -> None:
    """A group of the name "fake" is for the devices that PyTorch lists for it."""
    from torch.distributed.distributed_c10d import BackendConfig

    init = BackendConfig.__init__

    def without(self, backend):
        init(self, backend)
        if str(backend) == "fake":
            del self.device_backend_map["acme"]

    BackendConfig.__init__ = without


@defect(
    "process",
    "queues_send_while_both_go_on",
    says="(tensor([0.]",
    level="standard",
    slow=True,
)
def queues_send_too_early() -> None:
    """A tensor that a queue's thread sends is sent as if nothing had been written to it yet."""
    from torch.multiprocessing.reductions import reduce_tensor

    def reduce(tensor):
        in_a_thread = threading.current_thread() is not threading.main_thread()
        return reduce_tensor(torch.zeros_like(tensor) if in_a_thread else tensor)

    ForkingPickler.register(torch.Tensor, reduce)
