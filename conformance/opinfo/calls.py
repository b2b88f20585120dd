"""Calls on the CPU and on the device, and what becomes of their exceptions."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from unittest import mock

import torch

from .. import dtypes
from . import gradients, sampling
from .comparing import Comparison, Mismatch, one_line
from .sampling import Call

if TYPE_CHECKING:
    from torch.testing._internal.opinfo.core import SampleInput

CPU = torch.device("cpu")


class NothingToCompare(Exception):
    """The CPU's answer to this sample has nothing in it that could be compared."""


class NotOnDevice(Mismatch):
    """The CPU answers, and the device says that it does not have this; the text is its words."""


class LacksDtype(Exception):
    """The sample needs a dtype that the device declares missing; the text is the reason."""


class SameRefusal(Exception):
    """The CPU raises, and the device raises the same type of exception."""


def run(function: Callable, call: Call, **more: Any) -> Any:
    sampling.seed_torch(0)
    return function(call.input, *call.args, **call.kwargs, **more)


@dataclasses.dataclass(frozen=True)
class Sides:
    """Asks the CPU, then the device, and announces which one runs: a crash has an owner."""

    announce: Callable[[str], None]
    device: torch.device = CPU

    def both(self, on_cpu: Callable[[], Any], on_device: Callable[[], Any]) -> tuple[Any, Any]:
        """Both answers. Where the CPU raises, the device has to raise the same type."""
        try:
            expected = self.ask_cpu(on_cpu)
        except NothingToCompare:
            raise
        except Exception as error:
            raise self.refusal(error, on_device) from None
        try:
            return expected, on_device()
        except NothingToCompare as error:
            raise Mismatch(f"{error}, on the CPU there is one") from None

    def ask_cpu(self, on_cpu: Callable[[], Any]) -> Any:
        self.announce("cpu")
        try:
            return on_cpu()
        finally:
            self.announce("device")

    def refusal(self, cpu_error: Exception, on_device: Callable[[], Any]) -> SameRefusal | Mismatch:
        """What it comes to that the CPU has raised: the device is asked, and has to raise too."""
        by_cpu = f"the CPU raises {describe(cpu_error)}"
        try:
            on_device()
        except Exception as device_error:
            if needed := dtypes.needed(self.device, device_error):
                raise LacksDtype(needed) from device_error
            if type(device_error) is type(cpu_error):
                return SameRefusal(by_cpu)
            said = f"raises {describe(device_error)}; {by_cpu}"
            return NotOnDevice(said) if _has_no_kernel(device_error) else Mismatch(said)
        if self._reports_later():
            return SameRefusal(by_cpu)
        return Mismatch(f"gives an answer; {by_cpu}")

    def _reports_later(self) -> bool:
        """Whether the device's work has failed. An index or a class out of range is in the device's
        memory, so that kernels find it after the call has returned, as those of CUDA do."""
        if self.device.type == "cpu":
            return False
        try:
            torch.accelerator.synchronize(self.device)
        except torch.AcceleratorError:
            return True
        return False


@dataclasses.dataclass(frozen=True)
class Arguments:
    """A sample, from which every call takes a fresh copy: operators may change what they get."""

    sample: SampleInput
    device: torch.device
    sides: Sides
    only_input: bool = False  # leaves all but the first argument on the CPU

    def in_float64(self, narrow: torch.dtype, answer: Callable[[Call], Any]) -> Callable[[], Any]:
        """What makes the answer of the CPU to the sample in float64, once; `narrow` is what the
        sample is in."""

        @functools.cache
        def made() -> Any:
            with gradients.in_float64(narrow):
                call = sampling.place(self.sample, CPU, wide=True)
                return self.sides.ask_cpu(lambda: answer(call))

        return made

    def on_cpu(self) -> Call:
        return sampling.place(self.sample, CPU)

    def on_device(self) -> Call:
        return sampling.place(self.sample, self.device, only_input=self.only_input)


def _has_no_kernel(error: Exception) -> bool:
    """PyTorch's dispatcher says so, whatever the sample is."""
    return isinstance(error, NotImplementedError) and str(error).startswith("Could not run 'aten::")


def describe(error: BaseException) -> str:
    text = one_line(str(error))
    return text if isinstance(error, Mismatch) else f"{type(error).__name__}: {text}"


# A single random bool is the same for so many seeds once in 32,768 times.
_SEEDS = 16


def depends_on_seed(answer: Callable[[], Any]) -> bool:
    """Whether what the CPU answers is something else after another seed."""
    first = None
    try:
        for offset in range(_SEEDS):
            with _shifted_seeds(offset):
                other = answer()
            if offset == 0:
                first = other
            Comparison(CPU).check("result", first, other)
    except Mismatch:
        return True
    except Exception:
        return False  # the check itself will say so
    return False


@contextlib.contextmanager
def _shifted_seeds(offset: int) -> Iterator[None]:
    """Also of OpInfos, which seed by themselves and always alike: torch.manual_seed(42)."""
    theirs, ours = torch.manual_seed, sampling.seed_torch
    with (
        mock.patch.object(torch, "manual_seed", lambda value: theirs(value + offset)),
        mock.patch.object(sampling, "seed_torch", lambda value: ours(value + offset)),
    ):
        yield
