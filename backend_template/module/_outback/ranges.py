"""torch.<name>.emit_ranges: torch's ranges in the tools of the driver."""

from . import _native, device_module, publish


class emit_ranges:
    """Opens a range of the driver's tools, such as NVTX's for Nsight, for each range of
    torch.profiler.record_function that begins in the `with` block, on any thread. It is what
    torch.autograd.profiler.emit_nvtx is for CUDA.

    A profile with ProfilerActivity.PrivateUse1 does so by itself. Raises NotImplementedError if the
    runtime has no group `ranges`.

    Args:
        enabled: False makes the block do nothing.
        operators: also opens a range for each operator.
    """

    def __init__(self, enabled: bool = True, *, operators: bool = False) -> None:
        self._enabled = enabled
        self._operators = operators
        self._entered = False

    def __enter__(self) -> "emit_ranges":
        if self._entered:
            raise RuntimeError("emit_ranges is not reentrant: make another one")
        if self._enabled:
            _native.begin_ranges(self._operators)
            self._entered = True
        return self

    def __exit__(self, *_: object) -> None:
        if self._entered:
            self._entered = False
            _native.end_ranges(self._operators)


def define() -> None:
    publish(device_module, emit_ranges)
