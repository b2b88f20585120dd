"""Says why autograd fails with tensors of torch's own CUDA, ROCm or XPU devices."""

from typing import Any

import torch

from . import name

_ASSERTION = "opt_ready_stream && opt_parent_stream"
_WHY = (
    "autograd cannot run on tensors of PyTorch's own devices, such as cuda, in a process with the "
    f"backend {name}, whose streams PyTorch takes for theirs (pytorch#161129). Move the tensors to "
    f"{name}, or use a process without the backend: OUTBACK_AUTOLOAD=0 keeps `import torch` from "
    "loading it."
)


class _Engine(torch._C._ImperativeEngine):
    """What begins all backward passes of Python's."""

    def run_backward(self, *arguments: Any, **keywords: Any) -> Any:
        try:
            return super().run_backward(*arguments, **keywords)
        except RuntimeError as error:
            if _ASSERTION not in str(error):
                raise
            raise RuntimeError(_WHY) from error


def teach() -> None:
    """Only where torch supports such devices: elsewhere PyTorch's own object stays."""
    if torch.version.cuda or torch.version.hip or torch.version.xpu:
        torch.autograd.Variable._execution_engine = _Engine()
