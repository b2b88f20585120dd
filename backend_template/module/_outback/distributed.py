"""torch.distributed on the device: its process group, under the name "outback" and, as other
devices' groups have it, under the device's own. The group is written in C++
(distributed/process_group.h) and communicates through one of torch's: Gloo's, which is made here,
or NCCL's (nccl.py).
"""

import atexit
import functools
import inspect
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from . import _native, name
from .import_hook import when_imported

KIND = "outback"
_TAKE_OTHERS = {"gloo": "Gloo takes tensors of the CPU", "nccl": "NCCL takes tensors of CUDA's"}
_SECONDS_AT_EXIT = 5.0  # for operations that are under way when the process ends


def make_gloo(
    store: Any, rank: int, size: int, timeout: timedelta, group: str, global_ranks: list[int]
) -> Any:
    """The group that communicates, for a group or, called by C++, for a part of one. The address of
    this process is Gloo's choice: GLOO_SOCKET_IFNAME."""
    if not dist.is_gloo_available():
        raise RuntimeError(
            f"{name}: communication between processes goes through Gloo, and this torch was built "
            "without it"
        )
    try:
        made = dist.ProcessGroupGloo(store, rank, size, timeout=timeout)
    except RuntimeError as error:
        raise dist.DistBackendError(
            f"{name}: rank {rank} of {size} could not connect to the others of group {group} "
            f"within {timeout.total_seconds():g} s: {error}. Each rank has to make the group, and "
            "to live until all have"
        ) from error
    made.options.group_name = group
    made.options.global_ranks_in_group = global_ranks
    return made


def options_of_parts(timeout: timedelta) -> Any:
    """What torch 2.13 and older hand to the parts of a group that is split: to Gloo's, which wants
    its own options, and to ours, which takes any."""
    _name_ranks_of_default_group()
    made = dist.ProcessGroupGloo._Options()
    made._timeout = timeout
    made._devices = [dist.ProcessGroupGloo.create_default_device()]
    return made


def _name_ranks_of_default_group() -> None:
    """Gloo numbers the ranks of a part by those of the group that is split, and knows them of the
    first default group of a process only: it reads beyond an empty list for the second one."""
    whole = dist.group.WORLD
    if whole is None or torch.device("cpu") not in whole._device_types:
        return
    gloo = whole._get_backend(torch.device("cpu"))
    if isinstance(gloo, dist.ProcessGroupGloo) and not gloo.options.global_ranks_in_group:
        gloo.options.global_ranks_in_group = list(range(gloo.size()))


def _create(facts: Any, options: Any) -> Any:
    """What torch.distributed calls for a group on the device, in each of its processes."""
    from . import nccl

    if nccl.is_chosen():
        return nccl.create(facts, options, KIND)
    gloo = make_gloo(
        facts.store,
        facts.group_rank,
        facts.group_size,
        facts.timeout,
        facts.group_id,
        facts.global_ranks_in_group,
    )
    return _native.make_process_group(gloo, False, facts.group_id, facts.timeout)


def _refuse(facts: Any, options: Any) -> Any:
    raise RuntimeError(
        f"{name}: this backend was built without its process group "
        '(OUTBACK_TORCH_DISTRIBUTED=OFF): build it with the group, or name "gloo", which takes '
        "tensors of the CPU"
    )


def register() -> None:
    if not dist.is_available():
        return
    if not hasattr(_native, "make_process_group"):
        dist.Backend.register_backend(KIND, _refuse, extended_api=True, devices=[name])
        return
    when_imported("torch.distributed.fsdp._fully_shard._fsdp_param", _pin_where_that_is_possible)
    atexit.register(_native.leave_groups, _SECONDS_AT_EXIT)
    for kind in (KIND, name):  # the first one is the device's default
        dist.Backend.register_backend(kind, _create, extended_api=True, devices=[name])
    _complete_configurations()
    _leave_default_to_vendors()
    _serve_monitored_barrier()


def _complete_configurations() -> None:
    """Where nothing or only our group is named, a group has the CPU's tensors too, with Gloo as it
    would without us. torch would map the device alone. Where only "gloo" is named, a group has the
    device's tensors too, as torch's serves CUDA's. The group that only pretends to communicate
    takes any tensor, and torch lists the devices that it knows.

    Gloo itself never gets tensors of the device: it would send from their addresses unchecked."""
    config = torch.distributed.distributed_c10d.BackendConfig
    original = config.__init__

    def init(self: Any, backend: Any) -> None:
        original(self, backend)
        chosen = self.device_backend_map
        if chosen.get(name) == name and _is_ours(name):
            chosen[name] = KIND
        is_ours_alone = chosen == {name: KIND} and ":" not in str(backend)
        is_gloo_alone = str(backend).lower() == dist.Backend.GLOO
        if is_gloo_alone or (is_ours_alone and dist.is_gloo_available()):
            # Without CUDA, for which torch would make another group, now that there are two kinds.
            self.device_backend_map = {"cpu": dist.Backend.GLOO, name: KIND}
        elif str(backend).lower() == dist.Backend.FAKE:
            chosen.setdefault(name, dist.Backend.FAKE)
        elif chosen.get(name) in _TAKE_OTHERS:
            kind = chosen[name]
            raise ValueError(
                f'"{name}:{kind}": {_TAKE_OTHERS[kind]} only. Use "{name}:{KIND}", which hands it '
                f"the tensors of {name}"
            )

    config.__init__ = init


def _is_ours(kind: str) -> bool:
    """A vendor may have registered a group of its own by the device's name."""
    return dist.Backend._plugins[kind.upper()].creator_fn is _create


def _leave_default_to_vendors() -> None:
    """A group that a vendor registers for the device later becomes the device's default."""
    original = dist.Backend.register_backend

    @functools.wraps(original)
    def register_backend(*args: Any, **kwargs: Any) -> None:
        given = inspect.signature(original).bind(*args, **kwargs)
        devices = given.arguments.get("devices")
        if isinstance(devices, str):  # torch would take its letters for devices
            given.arguments["devices"] = devices = [devices]
        defaults = dist.Backend.default_device_backend_map
        is_fake = str(given.arguments["name"]).lower() == dist.Backend.FAKE
        if name in (devices or ()) and not is_fake and defaults.get(name) == KIND:
            del defaults[name]
        original(*given.args, **given.kwargs)

    dist.Backend.register_backend = staticmethod(register_backend)


def _serve_monitored_barrier() -> None:
    """torch 2.13 and older take groups for it that are named "gloo" and no others. A group of ours
    has the part of the CPU that it is for."""
    original = dist.monitored_barrier

    @functools.wraps(original)
    def monitored_barrier(
        group: Any = None, timeout: Any = None, wait_all_ranks: bool = False
    ) -> None:
        called = dist.group.WORLD if group is None else group
        kinds = {torch.device("cpu"), torch.device(name)}
        if not isinstance(called, dist.ProcessGroup) or not kinds.issubset(called._device_types):
            original(group, timeout, wait_all_ranks)
            return
        chosen = {} if timeout is None else {"timeout": timeout}
        called.monitored_barrier(wait_all_ranks=wait_all_ranks, **chosen)

    dist.monitored_barrier = torch.distributed.distributed_c10d.monitored_barrier = (
        monitored_barrier
    )


def _pin_where_that_is_possible() -> None:
    """FSDP2 takes a parameter that is not pinned for one that it has to pin, again and again, and
    trains copies if a runtime has no pinned memory, where pin_memory() is only a hint."""
    from torch.distributed.fsdp._fully_shard._fsdp_param import FSDPParam

    original = FSDPParam._init_sharded_param

    @functools.wraps(original)
    def init(self: Any, param: Any, device: torch.device, *others: Any) -> Any:
        if self.pin_memory and device.type == name and not torch.empty(1).pin_memory().is_pinned():
            self.pin_memory = False
        return original(self, param, device, *others)

    FSDPParam._init_sharded_param = init
