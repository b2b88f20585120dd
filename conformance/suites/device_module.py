"""The device module: what torch.<name> has, by PyTorch's needs and torch.cuda's names"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable

import torch

from ..backend import Backend
from ..check import Check, Unsupported, check, variants
from ..current import current_device, need_privateuse1
from ..expect import equal, on, refused, same
from ..tables.device_module import NAMES, Name

KINDS: dict[str, Callable[[object], bool]] = {
    "function": callable,
    "class": inspect.isclass,
    "bool": lambda found: isinstance(found, bool),
    "value": lambda found: found is not None,
    "module": inspect.ismodule,
}


def the_name_is_there(backend: Backend, row: Name) -> None:
    """torch.<name> has the name, and it is what torch.cuda has under it."""
    need_privateuse1(backend)
    if not hasattr(backend.module, row.name):
        if row.tier == "required":
            raise AssertionError(f"torch.{backend.name} has no {row.name}: {row.without}")
        raise Unsupported(f"torch.{backend.name} has no {row.name}")
    found = getattr(backend.module, row.name)
    assert KINDS[row.kind](found), f"torch.{backend.name}.{row.name} is no {row.kind}: {found!r}"


TABLE: list[Check] = [
    made
    for row in NAMES
    for made in variants(
        Check(the_name_is_there, called_by=row.called_by, without=row.without, tier=row.tier),
        the_name_is_there,
        {row.name: (row,)},
    )
]


# ---- devices


@check(
    called_by="torch/accelerator/__init__.py: device_count",
    without="programs start more processes than there are devices, or fewer",
    tier="required",
)
def the_count_is_of_devices_that_work(backend: Backend) -> None:
    """device_count() is a positive int, each index below it works and that number itself not."""
    need_privateuse1(backend)
    count = backend.count
    assert type(count) is int and count > 0, f"device_count() is {count!r}"
    equal(backend.module.is_available(), True, "is_available()")
    for index in range(count):
        device = torch.device(backend.name, index)
        same(torch.tensor([index + 1.0], device=device), torch.tensor([index + 1.0]), device)
    with refused(RuntimeError, ValueError, IndexError, what=f"a tensor on device {count}"):
        torch.ones(1, device=torch.device(backend.name, count))


@check(
    called_by="torch/distributed/device_mesh.py: DeviceMesh",
    without="processes of one machine share a device while others are idle",
    tier="required",
)
def set_device_takes_every_form(backend: Backend) -> None:
    """set_device() takes an int, a string and a torch.device, and everything follows it."""
    module = backend.module
    set_device = backend.need("set_device")
    with current_device(backend, backend.device):
        for index in reversed(range(backend.count)):
            for form in (index, f"{backend.name}:{index}", torch.device(backend.name, index)):
                set_device(0)
                set_device(form)
                equal(module.current_device(), index, f"the current device after {form!r}")
                equal(torch.accelerator.current_device_index(), index, "torch.accelerator's")
                on(torch.ones(1, device=backend.name), torch.device(backend.name, index))


@check(
    called_by="torch/distributed/device_mesh.py: DeviceMesh",
    without="an index that is not there is taken for another device's",
    tier="required",
)
def set_device_refuses_an_index_out_of_range(backend: Backend) -> None:
    """set_device() refuses what is no device, and the current one stays."""
    need_privateuse1(backend)
    set_device = backend.need("set_device")
    with current_device(backend, backend.device):
        for wrong in (backend.count, 99, 2**40, f"{backend.name}:99", "cpu"):
            with refused(
                RuntimeError,
                ValueError,
                IndexError,
                OverflowError,
                TypeError,
                AssertionError,
                what=f"set_device({wrong!r})",
            ):
                set_device(wrong)
            equal(backend.module.current_device(), backend.device.index, "the current device")


@check(
    called_by="torch/_utils.py: _to",
    without="torch.load and checkpoints leave the program on another device",
    tier="required",
)
def the_context_restores_the_device(backend: Backend) -> None:
    """`with device(...)` makes a device current and the one before current again, errors or not."""
    context, module = backend.need("device"), backend.module
    last = backend.count - 1
    with current_device(backend, backend.device):
        for form in (last, f"{backend.name}:{last}", torch.device(backend.name, last)):
            with context(form):
                equal(module.current_device(), last, f"the current device in device({form!r})")
                on(torch.ones(1, device=backend.name), torch.device(backend.name, last))
            equal(module.current_device(), backend.device.index, "the device afterwards")
        with refused(LookupError, what="an error inside"):
            with context(last):
                raise LookupError
        equal(module.current_device(), backend.device.index, "the device after an error")


@check(
    called_by="torch/utils/checkpoint.py: get_device_states",
    without="nested code leaves the program on another device",
    tier="required",
)
def contexts_nest(backend: Backend) -> None:
    """Contexts inside contexts, and set_device inside of one, are undone from the inside out."""
    context, set_device = backend.need("device"), backend.need("set_device")
    module, here, other = backend.module, backend.device.index, backend.other_device.index
    with current_device(backend, backend.device):
        with context(other):
            with context(here):
                equal(module.current_device(), here, "the innermost device")
            equal(module.current_device(), other, "the outer device")
            set_device(here)
        equal(module.current_device(), here, "the device afterwards")
        with context(other):
            with context(other):
                equal(module.current_device(), other, "the same device twice")
            equal(module.current_device(), other, "the outer of the two")
        equal(module.current_device(), here, "the device in the end")


@check(
    called_by="torch/_dynamo/device_interface.py: DeviceGuard",
    without="what Inductor compiles runs on another device, or not at all",
    tier="recommended",
)
def devices_are_exchanged(backend: Backend) -> None:
    """_exchange_device(i) makes i current and gives the device before, as Dynamo's interfaces pass
    it on; _maybe_exchange_device(-1) changes nothing."""
    exchange, maybe = backend.need("_exchange_device"), backend.need("_maybe_exchange_device")
    module, here, last = backend.module, backend.device.index, backend.count - 1
    with current_device(backend, backend.device):
        equal(exchange(last), here, "the device before")
        equal(module.current_device(), last, "the current device")
        maybe(-1)
        equal(module.current_device(), last, "the current device after it")
        equal(maybe(here), last, "the device before")
        equal(module.current_device(), here, "the current device in the end")


@check(
    called_by="torch/utils/data/_utils/pin_memory.py: _pin_memory_loop",
    without="threads that serve several devices run on each other's",
    tier="required",
)
def the_current_device_is_the_threads_own(backend: Backend) -> None:
    """A new thread starts on device 0, and what it sets is not seen by others."""
    set_device, other = backend.need("set_device"), backend.other_device
    seen: list[int] = []

    def run() -> None:
        seen.append(backend.module.current_device())
        set_device(torch.device(backend.name, 0))
        seen.append(torch.ones(1, device=backend.name).device.index)

    with current_device(backend, torch.device(backend.name, max(other.index, 1))):
        before = backend.module.current_device()
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        equal(seen, [0, 0], "the devices of the thread")
        equal(backend.module.current_device(), before, "the device of the first thread")


@check(
    without="custom operators of other packages run on the wrong device",
    tier="recommended",
)
def device_of_follows_a_tensor(backend: Backend) -> None:
    """`with device_of(tensor)` makes the tensor's device current, and a CPU's tensor changes
    nothing."""
    device_of, module = backend.need("device_of"), backend.module
    last = torch.device(backend.name, backend.count - 1)
    there = torch.ones(1, device=last)
    with current_device(backend, backend.device):
        for of in (there, there.untyped_storage()):
            with device_of(of):
                equal(module.current_device(), last.index, f"the device of a {type(of).__name__}")
        equal(module.current_device(), backend.device.index, "the device afterwards")
        with device_of(torch.ones(1)):
            equal(module.current_device(), backend.device.index, "with a tensor of the CPU")


# ---- the start


@check(
    called_by="torch/utils/checkpoint.py: checkpoint",
    without="checkpointing and fake tensors take a running device for one that never ran",
    tier="required",
)
def it_is_initialized_after_its_first_tensor(backend: Backend) -> None:
    """is_initialized() and _initialized are True once a tensor has been made."""
    torch.ones(1, device=backend.device)
    equal(bool(backend.need("is_initialized")()), True, "is_initialized()")
    need_privateuse1(backend)
    equal(backend.need("_initialized"), True, "_initialized")


@check(
    called_by="torch/include/torch/csrc/utils/device_lazy_init.h: device_lazy_init",
    without="the device starts twice",
    tier="recommended",
)
def starting_again_changes_nothing(backend: Backend) -> None:
    """init() and _lazy_init() can be called again, and tensors stay what they are."""
    tensor = torch.arange(3.0, device=backend.device)
    backend.need("_lazy_init")()
    backend.need("init")()
    same(tensor, torch.arange(3.0), backend.device)


@check(
    called_by="torch/random.py: _seed_custom_device",
    without="torch.manual_seed leaves the device unseeded, or touches it in a forked process",
    tier="required",
)
def it_is_in_no_bad_fork(backend: Backend) -> None:
    """_is_in_bad_fork() is False in the process that started the device."""
    need_privateuse1(backend)
    equal(backend.need("_is_in_bad_fork")(), False, "_is_in_bad_fork()")


# ---- synchronize and properties


@check(
    called_by="torch/autograd/profiler.py: profile.__exit__",
    without="timings and traces are of what was queued, not of what was done",
    tier="required",
)
def synchronize_takes_every_form(backend: Backend) -> None:
    """synchronize() takes nothing, an index, a string and a torch.device, and refuses others."""
    need_privateuse1(backend)
    synchronize = backend.need("synchronize")
    with current_device(backend, backend.device):
        last = backend.count - 1
        for given in ((), (None,), (last,), (f"{backend.name}:{last}",), (backend.device,)):
            equal(synchronize(*given), None, f"synchronize{given}")
            equal(backend.module.current_device(), backend.device.index, "the current device")
        with refused(RuntimeError, ValueError, IndexError, AssertionError, what="synchronize(99)"):
            synchronize(99)


@check(
    called_by="torch/_utils.py: _get_devices_properties",
    without="logs and heuristics describe another device",
    tier="recommended",
)
def properties_describe_each_device(backend: Backend) -> None:
    """get_device_properties() has a name and total_memory, by every form of a device."""
    need_privateuse1(backend)
    get = backend.need("get_device_properties")
    for index in range(backend.count):
        forms = (index, f"{backend.name}:{index}", torch.device(backend.name, index))
        found = [get(form) for form in forms]
        for properties in found:
            assert isinstance(properties.name, str) and properties.name, "the name is empty"
            assert properties.total_memory > 0, f"total_memory is {properties.total_memory}"
        names = {(properties.name, properties.total_memory) for properties in found}
        equal(len(names), 1, f"the number of answers about device {index}")
    with refused(RuntimeError, ValueError, IndexError, AssertionError, what="device 99"):
        get(99)


@check(without="logs name another device than the one in use", tier="recommended")
def the_name_is_of_the_properties(backend: Backend) -> None:
    """get_device_name() is the name of the properties; without a device, of the current one."""
    need_privateuse1(backend)
    name, properties = backend.need("get_device_name"), backend.need("get_device_properties")
    for index in range(backend.count):
        equal(name(index), properties(index).name, f"the name of device {index}")
        with current_device(backend, torch.device(backend.name, index)):
            equal(name(), properties(index).name, "the name of the current device")


@check(without="programs that fit their batch to memory run out of it", tier="recommended")
def free_memory_is_a_part_of_all(backend: Backend) -> None:
    """mem_get_info() is (free, total) in bytes, and total what the properties say."""
    need_privateuse1(backend)
    for index in range(backend.count):
        tensor = torch.empty(1 << 25, dtype=torch.uint8, device=f"{backend.name}:{index}")
        free, total = backend.need("mem_get_info")(index)
        assert 0 <= free <= total - tensor.nbytes, (
            f"with {tensor.nbytes} bytes in use, free is {free}, total {total}"
        )
        properties = backend.need("get_device_properties")(index)
        equal(total, properties.total_memory, "total")


@check(without="training scripts choose a dtype that the device lacks", tier="recommended")
def bfloat16_is_there_where_it_is_said_to_be(backend: Backend) -> None:
    """Where is_bf16_supported() is True, bfloat16 is computed with."""
    if not backend.need("is_bf16_supported")():
        raise Unsupported("is_bf16_supported() is False")
    left = torch.tensor([1.5, -2.0], device=backend.device, dtype=torch.bfloat16)
    same(left * 2, torch.tensor([3.0, -4.0], dtype=torch.bfloat16), backend.device)


@check(
    called_by="torch/amp/autocast_mode.py: autocast.__init__",
    without="autocast offers dtypes that fail in the first layer",
    tier="required",
)
def autocast_dtypes_are_computed_with(backend: Backend) -> None:
    """get_amp_supported_dtype() is a list of floating dtypes, and each one is multiplied."""
    need_privateuse1(backend)
    dtypes = backend.need("get_amp_supported_dtype")()
    assert isinstance(dtypes, list | tuple) and dtypes, f"it is {dtypes!r}"
    for dtype in dtypes:
        assert isinstance(dtype, torch.dtype) and dtype.is_floating_point, f"{dtype} is in it"
        matrix = torch.eye(2, dtype=dtype, device=backend.device) * 2
        same(matrix @ matrix, torch.eye(2, dtype=dtype) * 4, backend.device, f"{dtype}")


# ---- streams, as far as the module's functions go


@check(
    called_by="torch/distributed/fsdp/_runtime_utils.py: _unshard",
    without="FSDP's copies run on the stream of its computations",
    tier="required",
)
def stream_makes_a_stream_current(backend: Backend) -> None:
    """`with stream(s)` makes s current and the one before current again; None changes nothing."""
    need_privateuse1(backend)
    make, stream = backend.need("Stream"), backend.need("stream")
    current = backend.need("current_stream")
    with current_device(backend, backend.device):
        before, new = current(), make()
        with stream(new):
            equal(current(), new, "the current stream")
            with stream(None):
                equal(current(), new, "the current stream with None")
        equal(current(), before, "the current stream afterwards")
        with refused(LookupError, what="an error inside"):
            with stream(new):
                raise LookupError
        equal(current(), before, "the current stream after an error")


@check(
    called_by="torch/distributed/fsdp/_runtime_utils.py: _init_streams",
    without="work goes to a stream of another device",
    tier="required",
)
def streams_tell_their_device(backend: Backend) -> None:
    """Streams belong to the device that was asked for, as current_stream(device) does."""
    need_privateuse1(backend)
    make, current = backend.need("Stream"), backend.need("current_stream")
    for index in range(backend.count):
        device = torch.device(backend.name, index)
        for form in (index, f"{backend.name}:{index}", device):
            equal(current(form).device, device, f"the device of current_stream({form!r})")
            equal(make(form).device, device, f"the device of Stream({form!r})")
        equal(make(device=device).device, device, "the device of a new stream")
        with current_device(backend, device):
            equal(current().device, device, "the device of the current stream")
            equal(make().device, device, "the device of a stream made there")


# ---- random numbers, as far as the module's functions go


@check(
    called_by="torch/random.py: fork_rng",
    without="fork_rng and checkpointing restore the numbers of another device",
    tier="required",
)
def states_are_taken_by_every_form(backend: Backend) -> None:
    """get_rng_state() and set_rng_state() take nothing, an index, a string or a torch.device."""
    need_privateuse1(backend)
    get, put = backend.need("get_rng_state"), backend.need("set_rng_state")
    with current_device(backend, backend.device):
        before = get()
        assert before.dtype == torch.uint8 and before.device.type == "cpu", (
            f"the state is {before.dtype} on {before.device}"
        )
        index = backend.device.index
        for form in (index, f"{backend.name}:{index}", backend.device):
            assert torch.equal(get(form), before), f"get_rng_state({form!r}) is another state"
            put(before, form)
        put(before)
        first = torch.rand(4, device=backend.device)
        put(before, backend.device)
        same(torch.rand(4, device=backend.device), first.cpu(), backend.device)
        put(before)


@check(without="a checkpoint has the random numbers of one device of several", tier="recommended")
def states_of_all_devices_are_put_back(backend: Backend) -> None:
    """set_rng_state_all() takes back what get_rng_state_all() gave, each on its device."""
    need_privateuse1(backend)
    get, put = backend.need("get_rng_state_all"), backend.need("set_rng_state_all")
    states = get()
    equal(len(states), backend.count, "the number of states")
    drawn = [torch.rand(4, device=f"{backend.name}:{i}").cpu() for i in range(backend.count)]
    put(states)
    for index, expected in enumerate(drawn):
        device = torch.device(backend.name, index)
        same(torch.rand(4, device=device), expected, device)
    put(states)


@check(without="the generator of one device is seeded, and another one is used", tier="recommended")
def default_generators_are_of_their_devices(backend: Backend) -> None:
    """default_generators has one of each device, and it is the one that operators use."""
    need_privateuse1(backend)
    generators = backend.need("default_generators")
    equal(len(generators), backend.count, "the number of generators")
    for index in range(backend.count):
        device, generator = torch.device(backend.name, index), generators[index]
        equal(generator.device, device, f"the device of generator {index}")
        state = generator.get_state()
        generator.manual_seed(1234)
        expected = torch.rand(4, device=device).cpu()
        generator.manual_seed(1234)
        same(torch.rand(4, device=device), expected, device)
        same(torch.rand(4, device=device, generator=generator.manual_seed(1234)), expected, device)
        generator.set_state(state)


# ---- what the module says of itself


@check(without="`from torch.<name> import *` and documentation miss names", tier="full")
def public_names_can_be_imported(backend: Backend) -> None:
    """Each name in __all__ is there, public, and in dir()."""
    need_privateuse1(backend)
    for name in backend.need("__all__"):
        assert hasattr(backend.module, name), f"torch.{backend.name}.{name} is in __all__ only"
        assert not name.startswith("_"), f"{name} is private and in __all__"
        assert name in dir(backend.module), f"{name} is not in dir(torch.{backend.name})"


@check(
    called_by="torch/serialization.py: _validate_device",
    without="optional features that are probed with hasattr raise instead of being left out",
    tier="recommended",
)
def a_missing_name_is_an_attribute_error(backend: Backend) -> None:
    """A name that is not there is an AttributeError, and hasattr() False."""
    with refused(AttributeError, what="a name that nothing has"):
        getattr(backend.module, "no_such_name_at_all")  # noqa: B009 - the call is the check
    equal(hasattr(backend.module, "no_such_name_at_all"), False, "hasattr()")
