"""torch.compile's default code generator, Inductor, for a device whose memory the CPU addresses:
the kernels that it generates for the CPU run in place on that memory. Imported when Inductor is.
"""

import functools
from types import SimpleNamespace
from typing import Any

from torch._inductor import ir, scheduler, utils
from torch._inductor.codegen import common
from torch._inductor.codegen.cpp import CppScheduling
from torch._inductor.codegen.cpu_device_op_overrides import CpuDeviceOpOverrides
from torch._inductor.codegen.wrapper import PythonWrapperCodegen, SubgraphPythonWrapperCodegen
from torch._inductor.scheduler import BaseSchedulerNode
from torch._inductor.virtualized import V
from torch.utils._pytree import tree_map

from .. import _native, device_module, name

_MODULE = f"torch.{name}"


def _is_ours(device: Any) -> bool:
    return device is not None and device.type == name


# ---- The Python code around the kernels


class OutbackWrapper(PythonWrapperCodegen):
    """Writes the Python around generated kernels."""

    @staticmethod
    def create(
        is_subgraph: bool,
        subgraph_name: Any,
        parent_wrapper: Any,
        partition_signatures: Any = None,
    ) -> Any:
        if is_subgraph:
            return OutbackSubgraphWrapper(subgraph_name, parent_wrapper, partition_signatures)
        return OutbackWrapper()

    def make_allocation(self, name: Any, device: Any, *rest: Any, **named: Any) -> Any:
        """Inductor writes a device that it does not know by its type alone, which would mean device
        0. What is passed on here stands for the device with the text "acme:1" as its type."""
        if _is_ours(device):
            device = SimpleNamespace(type=str(device), index=device.index)
        return super().make_allocation(name, device, *rest, **named)

    def _generate_kernel_call_helper(self, kernel_name: Any, call_args: Any, **named: Any) -> None:
        """Writes the call as for a kernel on the CPU, with a call before it that waits until the
        device's current stream is idle. Kernels in Triton go the usual way."""
        device = named.get("device") or V.graph.get_current_device_or_throw()
        if named.get("triton", True) or not _is_ours(device):
            super()._generate_kernel_call_helper(kernel_name, call_args, **named)
            return
        self.writeline(f"{_MODULE}._before_compiled_kernel({device.index})")
        self.writeline(self.wrap_kernel_call(kernel_name, call_args))


class OutbackSubgraphWrapper(OutbackWrapper, SubgraphPythonWrapperCodegen):
    """The same for a graph within the graph."""


class NoCppWrapper(PythonWrapperCodegen):
    """In place of what writes C++ around the kernels, for AOTInductor and where
    torch._inductor.config.cpp_wrapper is set."""

    @staticmethod
    def create(
        is_subgraph: bool,
        subgraph_name: Any,
        parent_wrapper: Any,
        partition_signatures: Any = None,
    ) -> Any:
        raise NotImplementedError(
            f"{name}: Inductor writes the code around the kernels in Python for this device: leave "
            "config.cpp_wrapper off, and call torch.compile instead of AOTInductor"
        )


class OutbackDeviceOpOverrides(CpuDeviceOpOverrides):
    """Writes calls of the device's. An index is a number, or, from torch 2.14 on, the name of a
    variable in the generated code."""

    def set_device(self, device_idx: Any) -> str:
        return f"{_MODULE}.set_device({device_idx})"

    def device_guard(self, device_idx: Any) -> str:
        return f"{_MODULE}.device({device_idx})"

    def current_stream(self) -> str:
        return f"{_MODULE}.current_stream()"

    def synchronize(self) -> str:
        return f"{_MODULE}.synchronize()"


# ---- Registration


class OutbackScheduling(CppScheduling):
    """The CPU's code generator, for memory that the CPU can address. It derives from that, since
    torch asks for the base class."""

    def __init__(self, scheduler: Any) -> None:
        _native.check_addressable(device_module.current_device())
        super().__init__(scheduler)

    def can_fuse_vertical(self, first: Any, second: Any) -> bool:
        """torch fuses what follows FlexAttention into its template, which then refuses it."""
        # Which imports the module after which this one is imported.
        from torch._inductor.codegen.cpp_flex_attention_template import CppFlexAttentionTemplate

        template = getattr(first.get_template_node(), "template", None)
        if isinstance(template, CppFlexAttentionTemplate):
            return False
        return bool(super().can_fuse_vertical(first, second))


def is_generated_here(device_type: str) -> bool:
    """Whether this generator still serves the device: a vendor may register another one later."""
    return device_type == name and common.get_scheduling_for_device(name) is OutbackScheduling


# In some places torch asks whether a device is the CPU, and takes every device that it does not
# know for a GPU. The functions below make it answer as for the CPU.


def _count_nodes_as_cpu() -> None:
    """The scheduler decides by this which loops may be fused and reordered."""
    is_cpu_of_torch = BaseSchedulerNode.is_cpu

    def is_cpu(self: BaseSchedulerNode) -> bool:
        if is_cpu_of_torch(self):
            return True
        device = self.get_device()
        return device is not None and is_generated_here(device.type)

    setattr(BaseSchedulerNode, is_cpu.__name__, is_cpu)


def _write_in_cpp() -> None:
    """The writer of a kernel decides by the language which dtypes intermediate values have."""
    backend_of_torch = utils.get_current_backend

    def get_current_backend(device_type: str | None = None) -> str:
        kind = device_type or V.graph.get_current_device_or_throw().type
        return "cpp" if is_generated_here(kind) else backend_of_torch(kind)

    # In both modules, since the second one imported the function from the first.
    for module in (utils, common):
        setattr(module, get_current_backend.__name__, get_current_backend)


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
    _count_nodes_as_cpu()
    _write_in_cpp()
    _take_generators()
    _guard_streams()
    _register_overrides_of_torch()
    common.register_device_op_overrides(name, OutbackDeviceOpOverrides())
    # Last: if something above fails, the next import of Inductor tries again.
    common.register_backend_for_device(name, OutbackScheduling, OutbackWrapper, NoCppWrapper)
