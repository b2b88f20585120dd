"""torch.compile's default code generator, Inductor, for a device whose memory the CPU addresses:
the kernels that it generates for the CPU run in place on that memory. Imported when Inductor is.
"""

from typing import Any

from torch._inductor import utils
from torch._inductor.codegen import common
from torch._inductor.codegen.cpp import CppScheduling
from torch._inductor.scheduler import BaseSchedulerNode
from torch._inductor.virtualized import V

from .. import _native, device_module, name
from .inductor import MODULE, OutbackWrapper, is_ours, register_generator


class InPlaceWrapper(OutbackWrapper):
    def _generate_kernel_call_helper(self, kernel_name: Any, call_args: Any, **named: Any) -> None:
        """Writes the call as for a kernel on the CPU, with a call before it that waits until the
        device's current stream is idle. Kernels in Triton go the usual way."""
        device = named.get("device") or V.graph.get_current_device_or_throw()
        if named.get("triton", True) or not is_ours(device):
            super()._generate_kernel_call_helper(kernel_name, call_args, **named)
            return
        self.writeline(f"{MODULE}._before_compiled_kernel({device.index})")
        self.writeline(self.wrap_kernel_call(kernel_name, call_args))


class InPlaceScheduling(CppScheduling):
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


def serves(device_type: str) -> bool:
    """Whether Inductor would generate this code for the device now."""
    return device_type == name and common.get_scheduling_for_device(name) is InPlaceScheduling


# In some places torch asks whether a device is the CPU, and takes every device that it does not
# know for a GPU. The functions below make it answer as for the CPU.


def _count_nodes_as_cpu() -> None:
    """The scheduler decides by this which loops may be fused and reordered."""
    is_cpu_of_torch = BaseSchedulerNode.is_cpu

    def is_cpu(self: BaseSchedulerNode) -> bool:
        if is_cpu_of_torch(self):
            return True
        device = self.get_device()
        return device is not None and serves(device.type)

    setattr(BaseSchedulerNode, is_cpu.__name__, is_cpu)


def _write_in_cpp() -> None:
    """The writer of a kernel decides by the language which dtypes intermediate values have."""
    backend_of_torch = utils.get_current_backend

    def get_current_backend(device_type: str | None = None) -> str:
        kind = device_type or V.graph.get_current_device_or_throw().type
        return "cpp" if serves(kind) else backend_of_torch(kind)

    # In both modules, since the second one imported the function from the first.
    for module in (utils, common):
        setattr(module, get_current_backend.__name__, get_current_backend)


def register() -> None:
    _count_nodes_as_cpu()
    _write_in_cpp()


def use() -> None:
    register_generator(InPlaceScheduling, InPlaceWrapper)
