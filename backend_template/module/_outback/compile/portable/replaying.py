"""mode="reduce-overhead": the second call of a compiled graph is captured in a graph of the device,
and later calls replay it. For graphs with fixed sizes on one device, which change no input but
parameters.

A replay uses the same memory each time, so a call runs as without this mode where that memory may
be in use: on another stream or thread, or while a result of an earlier replay lives.
"""

import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._inductor.cudagraph_utils import log_cudagraph_skip_and_bump_counter

from ... import device_module

Run = Callable[[list[Any]], Any]


def replayed(compiled: Any, example_inputs: Sequence[Any], static: Sequence[int]) -> Run:
    """What to call in place of `compiled`, which Inductor has made. `static` are the places of
    inputs that are at the same address in each call: parameters, and what is saved for backward."""
    changed = set(getattr(compiled, "mutated_input_idxs", ())) - set(static)
    devices = {each.device for each in example_inputs if isinstance(each, torch.Tensor)}
    reasons = {
        "sizes that change": not all(isinstance(each, torch.Tensor) for each in example_inputs),
        "inputs on several devices, or none": len(devices) != 1,
        "inputs that are changed": bool(changed),
        "inputs whose elements share memory": any(map(_is_expanded, example_inputs)),
    }
    for why_not, holds in reasons.items():
        if holds:
            log_cudagraph_skip_and_bump_counter(f"skipping graphs due to {why_not}")
            return compiled  # type: ignore[no-any-return]
    return _Replayed(compiled, static, devices.pop())


def _is_expanded(value: Any) -> bool:
    if not isinstance(value, torch.Tensor):
        return False
    sizes = zip(value.shape, value.stride(), strict=True)
    return any(stride == 0 and size > 1 for size, stride in sizes)


class _Recorded:
    """A capture with its memory."""

    def __init__(self, run: Run, inputs: Sequence[torch.Tensor], static: Sequence[int]) -> None:
        self.where = _here(inputs[0].device)
        self.fixed = {i: inputs[i].data_ptr() for i in static}
        self.places = {
            i: torch.empty_strided(
                each.shape, each.stride(), dtype=each.dtype, device=each.device
            ).copy_(each)
            for i, each in enumerate(inputs)
            if i not in self.fixed
        }
        self._graph = device_module.CUDAGraph()
        with device_module.graph(self._graph):
            self._results = run([self.places.get(i, each) for i, each in enumerate(inputs)])
        kept = [*self.places.values(), *self._results]
        tensors = [each for each in kept if isinstance(each, torch.Tensor)]
        own = {each.untyped_storage()._cdata: each.untyped_storage() for each in tensors}
        for i in static:
            own.pop(inputs[i].untyped_storage()._cdata, None)
        self._storages = list(own.values())
        del kept, tensors, own
        self._uses = self._counts()

    def _counts(self) -> list[tuple[int, int]]:
        """Who uses each storage: tensors, and Python's object of it, which is one for all."""
        return [
            (torch._C._storage_Use_Count(each._cdata), sys.getrefcount(each))
            for each in self._storages
        ]

    def takes(self, inputs: Sequence[torch.Tensor]) -> bool:
        if self.where != _here(inputs[0].device):
            return False
        if any(inputs[i].data_ptr() != address for i, address in self.fixed.items()):
            return False
        return self._uses == self._counts()

    def replay(self, inputs: Sequence[torch.Tensor]) -> list[Any]:
        for i, place in self.places.items():
            place.copy_(inputs[i])
        self._graph.replay()
        return [each.detach() if isinstance(each, torch.Tensor) else each for each in self._results]


class _Replayed:
    def __init__(self, run: Run, static: Sequence[int], device: torch.device) -> None:
        self._boxed_call = True
        self._run, self._static, self._device = run, static, device
        self._calls = 0
        self._recorded: _Recorded | None = None

    def __call__(self, arguments: list[Any]) -> Any:
        self._calls += 1
        with device_module.device(self._device):
            if self._calls == 2 and not device_module.is_current_stream_capturing():
                self._record(arguments)
            if self._recorded is None or not self._recorded.takes(arguments):
                return self._run(arguments)
            results = self._recorded.replay(arguments)
        arguments.clear()
        return results

    def _record(self, inputs: list[torch.Tensor]) -> None:
        try:
            self._recorded = _Recorded(self._run, inputs, self._static)
        except RuntimeError as error:
            # An operator that runs over copies, or draws random numbers; a runtime without graphs;
            # too little memory for a second set of results. Whatever it was, the caller runs what
            # was compiled without a graph, which raises what is wrong with that.
            log_cudagraph_skip_and_bump_counter(f"skipping graphs due to {error}")


def _here(device: torch.device) -> tuple[int, Any]:
    return threading.get_ident(), device_module.current_stream(device)
