"""Outback's own: the runtime below a backend that Outback made. No other backend has one."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path

import torch

from ..backend import Backend
from ..check import Skipped, Unsupported, check
from ..program import run, run_well

SUITE = "OUTBACK_RUNTIME_SUITE"
# What a program does with most of what a runtime has.
WORK = """
x = torch.arange(64.0, device=device).reshape(8, 8).requires_grad_()
for _ in range(3):
    (x @ x.t()).relu().mean().backward()
assert x.grad is not None and x.grad.device == device
p = torch.ones(1 << 12).pin_memory()
side = torch.Stream(device)
side.wait_stream(torch.accelerator.current_stream())
with side:
    y = p.to(device, non_blocking=True) + 1
    z = y.to("cpu", non_blocking=True)
event = side.record_event()
event.synchronize()
assert z.eq(2).all()
y.record_stream(side)
if module.device_count() > 1:
    there = torch.device(device.type, 1 - device.index)
    assert y.to(there).cpu().eq(2).all()
del p, x, y, z, side, event
torch.accelerator.synchronize()
torch.accelerator.empty_cache()
"""


def need_outback(backend: Backend) -> None:
    if not hasattr(backend.module, "_outback"):
        raise Unsupported(f"{backend.name} is no backend of Outback's, so it has no runtime table")


@check(
    called_by="torch/include/c10/core/impl/DeviceGuardImplInterface.h: DeviceGuardImplInterface",
    without="the runtime breaks its contract below everything else",
    level="standard",
)
def the_runtime_suite_passes(backend: Backend) -> None:
    """The runtime suite, which the project builds with outback_add_runtime_suite, passes."""
    need_outback(backend)
    program = os.environ.get(SUITE)
    if not program:
        raise Skipped(f"needs the program that outback_add_runtime_suite builds, in {SUITE}")
    try:
        process = subprocess.run(
            [program, "--gtest_brief=1"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    except OSError as error:
        raise Skipped(f"{SUITE}={program}: {error.strerror}") from error
    except subprocess.TimeoutExpired:
        raise AssertionError("the runtime suite had not ended after 600 s") from None
    said = process.stdout + process.stderr
    totals = re.findall(r"runtime suite: (\d+) passed, (\d+) unsupported, (\d+) failed", said)
    assert process.returncode == 0, f"status {process.returncode}: {said[-3000:]}"
    assert totals and int(totals[-1][0]) > 0, f"nothing was tested: {said[-500:]}"


@check(
    called_by="torch/include/c10/core/impl/DeviceGuardImplInterface.h: DeviceGuardImplInterface",
    without="the runtime is called wrongly, or answers wrongly, and nobody is told",
)
def no_call_breaks_the_contract(backend: Backend) -> None:
    """A program runs under OUTBACK_VALIDATE=1, which checks each call and each answer of the
    runtime, without a word."""
    need_outback(backend)
    run_well(backend, WORK, OUTBACK_VALIDATE="1")


@check(
    called_by="torch/include/c10/core/Allocator.h: DataPtr",
    without="memory, streams and events are never given back",
    level="standard",
)
def nothing_is_left_at_the_end(backend: Backend) -> None:
    """A program that has let go of everything leaves nothing for OUTBACK_REPORT_LEAKS=1 to list,
    and one that keeps memory by its address is told of it."""
    need_outback(backend)
    run_well(backend, WORK, OUTBACK_REPORT_LEAKS="1")
    keep = "kept = module.caching_allocator_alloc(5000)"
    finished = run(backend, keep, OUTBACK_REPORT_LEAKS="1")
    assert "5000 bytes" in finished.errors, f"a leak was not reported: {finished}"


@check(
    called_by="torch/include/c10/util/Exception.h: AcceleratorError",
    without="an error of the driver becomes a wrong number, or a crash",
    level="standard",
)
def what_fails_below_arrives_above(backend: Backend) -> None:
    """A call of the runtime that fails is an error of its kind in the program."""
    need_outback(backend)
    expected = {
        "mem_alloc:*=out_of_memory": ("torch.empty(1 << 20, device=device)", "OutOfMemoryError"),
        "mem_alloc:*=internal": ("torch.empty(1 << 20, device=device)", "AcceleratorError"),
        "mem_alloc:*=unsupported": ("torch.empty(1 << 20, device=device)", "NotImplementedError"),
    }
    for fault, (statement, kind) in expected.items():
        printed = run_well(
            backend,
            f"""
            torch.accelerator.current_device_index()
            try:
                {statement}
            except Exception as error:
                print(type(error).__name__)
                assert not isinstance(error, (SystemError, KeyboardInterrupt))
            """,
            OUTBACK_FAULTS=fault,
        )
        assert printed == kind, f"{fault}: {printed or 'nothing was raised'}, expected {kind}"


@check(
    called_by="torch/include/c10/core/impl/DeviceGuardImplInterface.h: DeviceGuardImplInterface",
    without="nobody can see what a program asks of the runtime",
    level="standard",
)
def calls_are_traced(backend: Backend) -> None:
    """OUTBACK_TRACE writes a line for each call of the runtime, each with its status."""
    need_outback(backend)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "calls.txt"
        run_well(backend, WORK, OUTBACK_TRACE=str(path))
        lines = path.read_text().splitlines()
    slots = set(re.findall(r" (\w[\w.]*)\(", "\n".join(lines)))
    assert {"device_info", "mem_alloc"} <= slots, f"of {sorted(slots)}"


@check(
    called_by="torch/_dynamo/device_interface.py: get_device_properties",
    without="programs choose their device, and compilers their kernels, by wrong numbers",
)
def what_the_device_says_of_itself_can_be(backend: Backend) -> None:
    """The properties of each device have a name and some memory, as much as torch.accelerator
    says."""
    need_outback(backend)
    for index in range(backend.count):
        properties = backend.module.get_device_properties(index)
        assert properties.name and properties.multi_processor_count >= 0
        assert isinstance(properties.is_host_addressable, bool)
        total = torch.accelerator.get_memory_info(index)[1]
        assert properties.total_memory == total, f"{properties.total_memory}, and {total}"
