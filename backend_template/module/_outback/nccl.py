"""What the group of a device whose memory is CUDA's communicates through: torch's own
ProcessGroupNCCL, which is made here."""

import copy
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from . import _native, device_module, name, twin


def is_chosen() -> bool:
    """Whether the device's groups communicate through NCCL: where NCCL is, and the current device's
    memory is CUDA's, unless OUTBACK_TRANSPORT says otherwise. May start the backend."""
    wanted = _native.wanted_transport()
    if wanted == "gloo":
        return False
    why_not = _why_not()
    if wanted and why_not:
        raise RuntimeError(f"{name}: OUTBACK_TRANSPORT=nccl, but {why_not}")
    return not why_not


def _why_not() -> str:
    if not dist.is_nccl_available():
        return "this torch was built without NCCL"
    if not device_module.device_count():
        return "there is no device"
    device = device_module.current_device()
    own = twin.of(device)
    if own is None or own.type != "cuda":
        return f"{name}:{device} shares no memory with a device of CUDA's"
    return ""


def create(facts: Any, options: Any, kind: str) -> Any:
    """What torch.distributed calls for a group on the device, under the name `kind`. `options` may
    be ProcessGroupNCCL.Options."""
    made = options if isinstance(options, dist.ProcessGroupNCCL.Options) else None
    made = made or dist.ProcessGroupNCCL.Options()
    made._timeout = facts.timeout
    made.group_name = facts.group_id
    made.global_ranks_in_group = facts.global_ranks_in_group
    _split_from_default_group(made, facts.global_ranks_in_group, kind)
    transport = dist.ProcessGroupNCCL(facts.store, facts.group_rank, facts.group_size, made)
    if torch.__version__ < "2.15":  # which begins to count without, and warns of the call
        transport._set_sequence_number_for_group()
    return _native.make_process_group(transport, True, facts.group_id, facts.timeout)


def _split_from_default_group(options: Any, ranks: list[int], kind: str) -> None:
    """As torch does for its own NCCL: the processes that are not in the group take part in the
    split then, by perform_nocolor_split()."""
    c10d = dist.distributed_c10d
    if not dist.is_initialized() or not dist.group.WORLD.bound_device_id:
        return
    asked = (kind,) if torch.__version__ >= "2.15" else ()  # splits groups of one kind only
    source = c10d._get_split_source(dist.group.WORLD, *asked)
    if isinstance(getattr(source, "transport", None), dist.ProcessGroupNCCL):
        options.split_from = source.transport
        options.split_color = c10d._process_group_color(ranks)


def options_of_part(transport: Any, timeout: timedelta, group: str, ranks: list[int]) -> Any:
    """Called by C++ for a part of a group that is split."""
    made = copy.deepcopy(transport.options)
    made._timeout = timeout
    made.group_name = group
    made.global_ranks_in_group = ranks
    return made
