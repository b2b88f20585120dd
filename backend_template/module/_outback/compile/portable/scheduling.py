"""Inductor's scheduling and the Python around kernels, for kernels in the dialect."""

from typing import Any

import sympy
from torch._inductor.codegen.common import BackendFeature
from torch._inductor.codegen.simd import SIMDScheduling
from torch._inductor.utils import get_fused_kernel_name
from torch._inductor.virtualized import V
from torch.utils._ordered_set import OrderedSet

from ... import __name__ as _package
from ..inductor import OutbackWrapper
from .kernel import PortableKernel

_RUNNING = f"{_package}.compile.portable.running"


class PortableScheduling(SIMDScheduling):
    kernel_type = PortableKernel

    def get_backend_features(self, device: Any) -> OrderedSet[BackendFeature]:
        return OrderedSet(
            [
                BackendFeature.INPLACE_BUFFERS,
                BackendFeature.BUCKETIZE,
                BackendFeature.SCAN,
                BackendFeature.TUPLE_REDUCTION,  # asked of scans with several values
                BackendFeature.MASKED_SCATTER_WITH_INDEX,
            ]
        )

    @classmethod
    def get_tiling_and_scores(
        cls,
        node_schedule: Any,
        numel: Any,
        reduction_numel: Any = sympy.S.One,
        coalesce_analysis: Any = None,
    ) -> Any:
        """Two indices where memory is read along one and written along the other."""
        if reduction_numel == 1:
            tiling, scores = super().get_tiling_and_scores(
                node_schedule, numel, reduction_numel, coalesce_analysis
            )
            if set(tiling) - {"r0_"} <= {"x", "y"}:
                return tiling, scores
        return cls.create_tiling([numel], [reduction_numel]), None

    def define_kernel(self, src_code: str, node_schedule: Any, kernel: Any) -> str:
        wrapper = V.graph.wrapper_code
        device = V.graph.get_current_device_or_throw()
        key = f"{device}\n{src_code}"
        if key in wrapper.src_to_kernel:
            return str(wrapper.src_to_kernel[key])
        fused = get_fused_kernel_name(node_schedule, "original_aten")
        name = f"{fused}_{wrapper.next_kernel_suffix()}"
        wrapper.src_to_kernel[key] = name
        kinds = "".join(kind for _, _, kind in kernel.signature())
        text = src_code.replace("KERNEL_NAME", fused)
        made = f"running.kernel({fused!r}, {kinds!r}, {device.index}, r'''\n{text}''')"
        wrapper.define_kernel(name, made, None, gpu=False)
        return name


class PortableWrapper(OutbackWrapper):
    def write_header(self) -> None:
        super().write_header()
        self.imports.writeline(f"import {_RUNNING} as running")

    def _generate_kernel_call_helper(self, kernel_name: Any, call_args: Any, **named: Any) -> None:
        if named.get("triton", True):
            super()._generate_kernel_call_helper(kernel_name, call_args, **named)
            return
        self.writeline(self.wrap_kernel_call(kernel_name, call_args))
