"""What the code that torch.compile's default code generator, Inductor, makes for the device has
around its kernels, whoever generates these: in_place.py or portable/. Imported when Inductor is.
"""

import functools
import hashlib
from types import SimpleNamespace
from typing import Any

from torch._inductor import ir, scheduler
from torch._inductor.codegen import common
from torch._inductor.codegen.cpu_device_op_overrides import CpuDeviceOpOverrides
from torch._inductor.codegen.wrapper import PythonWrapperCodegen, SubgraphPythonWrapperCodegen
from torch._inductor.custom_graph_pass import CustomGraphModulePass
from torch._inductor.virtualized import V
from torch.utils._pytree import tree_map

from .. import _native, device_module, loader, name
from ..kernels import target_of
from ..kernels.headers import HEADERS

MODULE = f"torch.{name}"


def is_ours(device: Any) -> bool:
    return device is not None and device.type == name


# ---- The Python code around the kernels


class OutbackWrapper(PythonWrapperCodegen):
    """Writes the Python around generated kernels. Whoever generates kernels writes their calls."""

    @classmethod
    def create(
        cls,
        is_subgraph: bool,
        subgraph_name: Any,
        parent_wrapper: Any,
        partition_signatures: Any = None,
    ) -> Any:
        if not is_subgraph:
            return cls()
        of_subgraph = type(f"{cls.__name__}OfSubgraph", (cls, SubgraphPythonWrapperCodegen), {})
        return of_subgraph(subgraph_name, parent_wrapper, partition_signatures)

    def make_allocation(self, name: Any, device: Any, *rest: Any, **named: Any) -> Any:
        """Inductor writes a device that it does not know by its type alone, which would mean device
        0. What is passed on here stands for the device with the text "acme:1" as its type."""
        if is_ours(device):
            device = SimpleNamespace(type=str(device), index=device.index)
        return super().make_allocation(name, device, *rest, **named)


class NoCppWrapper(PythonWrapperCodegen):
    """In place of what writes C++ around the kernels, for AOTInductor and where
    torch._inductor.config.cpp_wrapper is set."""

    @staticmethod
    def create(*_args: Any, **_named: Any) -> Any:
        raise NotImplementedError(
            f"{name}: Inductor writes the code around the kernels in Python for this device: leave "
            "config.cpp_wrapper off, and call torch.compile instead of AOTInductor"
        )


class OutbackDeviceOpOverrides(CpuDeviceOpOverrides):
    """Writes calls of the device's. An index is a number, or, from torch 2.14 on, the name of a
    variable in the generated code."""

    def set_device(self, device_idx: Any) -> str:
        return f"{MODULE}.set_device({device_idx})"

    def device_guard(self, device_idx: Any) -> str:
        return f"{MODULE}.device({device_idx})"

    def current_stream(self) -> str:
        return f"{MODULE}.current_stream()"

    def synchronize(self) -> str:
        return f"{MODULE}.synchronize()"


# ---- Registration

_SCHEDULINGS: set[type] = set()


class _Key(CustomGraphModulePass):
    """A part of the key of Inductor's cache: code that another version has generated is not taken
    from there, nor code of another generator, nor for a device without float64."""

    def __init__(self, scheduling: type) -> None:
        texts = [loader.texts("compile"), sorted(HEADERS.items()), scheduling.__name__]
        self._digest = hashlib.sha256(repr(texts).encode()).hexdigest()

    def __call__(self, graph_module: Any) -> None:
        """Changes nothing."""

    def uuid(self) -> Any:
        devices = range(device_module.device_count())
        ours = filter(_native.runs_portable_kernels, devices)
        return self._digest, [target_of(each, "torch.compile").has_float64 for each in ours]


def register_generator(scheduling: type, wrapper: type) -> None:
    """Lets Inductor generate code for the device by these classes."""
    _SCHEDULINGS.add(scheduling)
    if common.get_scheduling_for_device(name) is not scheduling:
        common.register_backend_for_device(
            name, scheduling, wrapper, NoCppWrapper, device_custom_pass=_Key(scheduling)
        )


def is_generated_here(device_type: str) -> bool:
    """Whether one of these generators still serves the device: a vendor may register another one
    later."""
    return device_type == name and common.get_scheduling_for_device(name) in _SCHEDULINGS


def _take_generators() -> None:
    """What draws random numbers and runs again in the backward pass gets the generator as an
    argument from torch 2.13 on. torch looks for it in torch.cuda, but takes other objects as they
    are."""
    if not hasattr(ir, "OpaqueObjectState"):
        return
    process_of_torch = ir.FallbackKernel.process_kernel.__func__

    def as_it_is(value: Any) -> Any:
        if not isinstance(value, ir.GeneratorState) or not is_generated_here(value.device.type):
            return value
        generator = device_module.default_generators[value.device.index].clone_state()
        return ir.OpaqueObjectState(name=value.name, value=generator)

    @functools.wraps(process_of_torch)
    def process_kernel(cls: Any, kernel: Any, *args: Any, **named: Any) -> Any:
        args, named = tree_map(as_it_is, (args, named))
        return process_of_torch(cls, kernel, *args, **named)

    setattr(ir.FallbackKernel, process_kernel.__name__, classmethod(process_kernel))


def _guard_streams() -> None:
    """The names of streams are defined where a device is entered, which is so for GPUs alone."""
    if not hasattr(scheduler.Scheduler, "_has_multi_stream_nodes"):
        return
    needs_of_torch = scheduler.device_need_guard

    def device_need_guard(device: str) -> bool:
        if is_generated_here(device) and V.graph.scheduler._has_multi_stream_nodes():
            return True
        return bool(needs_of_torch(device))

    setattr(scheduler, device_need_guard.__name__, device_need_guard)


def _is_on_the_device(value: Any) -> bool:
    """Of what a lowering gets, which may be a number."""
    device = value.get_device() if isinstance(value, ir.IRNode) else None
    return device is not None and is_generated_here(device.type)


def _find_the_device(lowering: Any) -> None:
    """Of a tensor on the device and a CPU tensor without dimensions, the first one says where the
    result is."""
    is_gpu_of_torch = lowering.is_gpu

    def is_gpu(device: str | None) -> bool:
        return is_gpu_of_torch(device) or (device is not None and is_generated_here(device))

    setattr(lowering, is_gpu.__name__, is_gpu)


def _count_places_by_dimensions(lowering: Any) -> None:
    """argmax counts places in the order of the dimensions, also where memory has another. torch
    asks for that where it generates for the CPU or in Triton."""
    make_of_torch = lowering._make_reduction_inner

    @functools.wraps(make_of_torch)
    def make_reduction_inner(x: Any, *rest: Any, **named: Any) -> Any:
        if not is_generated_here(x.get_device().type):
            return make_of_torch(x, *rest, **named)
        is_triton = lowering.is_triton
        lowering.is_triton = lambda value: True
        try:
            return make_of_torch(x, *rest, **named)
        finally:
            lowering.is_triton = is_triton

    setattr(lowering, make_of_torch.__name__, make_reduction_inner)


def _compute_on_the_cpu_first(lowering: Any) -> None:
    """What is read or computed of CPU tensors alone, such as y[1].sin() in x * y[1].sin(), is made
    there: a kernel on the device takes the result as a number, and cannot read y."""
    broadcast_of_torch = lowering.broadcast_tensors

    def alone(value: Any) -> Any:
        if value.get_device_or_error().type != "cpu" or value.get_size():
            return value
        value.realize()
        if isinstance(value.data, ir.StorageBox):
            return value
        copied = lowering.clone(value)  # of a view
        copied.realize()
        return copied

    @functools.wraps(broadcast_of_torch)
    def broadcast_tensors(*inputs: Any) -> Any:
        boxes = [each for each in inputs if isinstance(each, ir.TensorBox)]
        if any(map(_is_on_the_device, boxes)):
            inputs = tuple(alone(it) if isinstance(it, ir.TensorBox) else it for it in inputs)
        return broadcast_of_torch(*inputs)

    setattr(lowering, broadcast_of_torch.__name__, broadcast_tensors)


def _copy_before_changing(lowering: Any) -> None:
    """A tensor on one device that is changed to a result on another one gets a copy of it: torch's
    foreach operators would write the result by a kernel of the tensor's device."""
    layout = ir.MutationLayoutSHOULDREMOVE
    realize_of_torch = layout.realize_into.__func__

    @functools.wraps(realize_of_torch)
    def realize_into(cls: Any, src: Any, dst: Any, *rest: Any, **named: Any) -> Any:
        device = dst.get_device()
        is_ours = _is_on_the_device(src) or _is_on_the_device(dst)
        if is_ours and src.get_device() != device:
            return realize_of_torch(cls, lowering.to_device(src, device), dst)
        return realize_of_torch(cls, src, dst, *rest, **named)

    setattr(layout, realize_of_torch.__name__, classmethod(realize_into))


def _divide_by_numbers(lowering: Any) -> None:
    """x / 127.5 is a division, as in eager mode: torch asks for the number only to multiply by its
    reciprocal, for all devices but the CPU (pytorch#157959)."""
    asked = lowering.get_constant_value

    @functools.wraps(asked)
    def get_constant_value(value: Any) -> Any:
        return None if _is_on_the_device(value) else asked(value)

    setattr(lowering, asked.__name__, get_constant_value)


def register_lowerings() -> None:
    from torch._inductor import lowering  # which imports the module after which this one is

    _find_the_device(lowering)
    _compute_on_the_cpu_first(lowering)
    _copy_before_changing(lowering)
    _count_places_by_dimensions(lowering)
    _divide_by_numbers(lowering)


def _register_overrides_of_torch() -> None:
    """torch 2.11 registers those of CUDA when it looks for any and finds none at all: the import
    above, of the CPU's, is enough to keep it from that."""
    registered = common.device_op_overrides_dict
    if "cuda" not in registered:
        before = dict(registered)
        registered.clear()
        common.get_device_op_overrides("cuda")
        registered.update(before)


def register() -> None:
    _take_generators()
    _guard_streams()
    _register_overrides_of_torch()
    common.register_device_op_overrides(name, OutbackDeviceOpOverrides())
