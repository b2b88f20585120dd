"""A forked child may not use a device that its parent had started."""

import pytest

pytestmark = pytest.mark.turns_on_driver

FORK = """
import os, sys
import torch, torch_acme

def in_child(body):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            body()
            code = 0
        except BaseException:
            import traceback
            traceback.print_exc()
        os._exit(code)
    assert os.waitpid(child, 0)[1] == 0

WORDS = (
    "Cannot re-initialize acme in forked subprocess. To use acme with multiprocessing, "
    "you must use the 'spawn' start method"
)

def refused(call):
    try:
        call()
    except RuntimeError as error:
        assert WORDS in str(error), error
        assert "Exception raised from" not in str(error), error
    else:
        raise AssertionError("accepted")
"""


def test_the_child_is_refused_and_the_parent_goes_on(run_python):
    run_python(
        FORK
        + """
x = torch.ones(3, device="acme")
cpu = torch.ones(3)

def child():
    assert torch.acme._is_in_bad_fork()
    assert not torch.acme.is_initialized() and not torch.acme._initialized
    for call in (
        lambda: torch.ones(1, device="acme"),
        lambda: cpu.acme(),
        lambda: torch.nn.Linear(1, 1).acme(),
        lambda: x + 1,
        lambda: x.cpu(),
        torch.acme.init,
        torch.acme.synchronize,
        torch.accelerator.synchronize,
        torch.acme.Stream,
        torch.acme.get_device_properties,
    ):
        refused(call)

for _ in range(2):
    in_child(child)
assert not torch.acme._is_in_bad_fork()
assert (x + 1).tolist() == [2, 2, 2]
torch.acme.synchronize()
"""
    )


def test_a_child_of_a_parent_that_had_not_started_is_free(run_python, counts_without_driver):
    run_python(
        FORK
        + """
torch.manual_seed(1)
assert torch.acme.device_count() > 0
assert not torch.acme.is_initialized()

def child():
    assert not torch.acme._is_in_bad_fork()
    assert torch.ones(3, device="acme").add(1).tolist() == [2, 2, 2]

in_child(child)
assert torch.ones(3, device="acme").add(1).tolist() == [2, 2, 2]
"""
    )


@pytest.mark.parametrize("autoload", ["0", "1"])
def test_a_child_of_a_parent_that_has_imported_torchs_compiler_is_free(run_python, autoload):
    """And what else torch leaves to be imported, before the backend and after it, and one that has
    asked for the interfaces of devices. What compiles starts the accelerator, as on CUDA."""
    run_python(
        """
import torch
import torch._inductor.compile_fx, torch._inductor.codegen.cpp
import torch.distributed.fsdp, torch.distributed.tensor
from torch._dynamo.device_interface import get_registered_device_interfaces

assert {"cpu", "cuda"} <= dict(get_registered_device_interfaces()).keys()
"""
        + FORK
        + """
assert "acme" in dict(get_registered_device_interfaces())

def child():
    assert torch.acme.get_device_properties(0).total_memory > 0
    assert torch.ones(3, device="acme").add(1).tolist() == [2, 2, 2]

in_child(child)
""",
        OUTBACK_AUTOLOAD=autoload,
    )


def test_a_child_of_a_parent_that_has_seeded_all_devices_is_free(run_python):
    run_python(
        FORK
        + """
torch.manual_seed(1)

def child():
    assert torch.acme.initial_seed() == 1
    assert torch.ones(3, device="acme").add(1).tolist() == [2, 2, 2]

in_child(child)
assert [each.initial_seed() for each in torch.acme.default_generators] == [1] * 2
torch.manual_seed(-2)
assert {each.initial_seed() for each in torch.acme.default_generators} == {2**64 - 2}
"""
    )


def test_a_child_of_a_parent_that_was_starting_is_refused(run_python):
    """Nobody ends the start in the child, so whoever waits there for its end waits for ever."""
    run_python(
        FORK
        + """
import signal, threading, time
starting = threading.Thread(target=torch.acme.init)
starting.start()
time.sleep(1)  # a busy machine may take that long to begin the start, which lasts three seconds
assert not torch.acme.is_initialized()

def child():
    signal.alarm(20)
    assert torch.acme._is_in_bad_fork()
    for call in (
        torch.acme.init,
        lambda: torch.ones(1, device="acme"),
        lambda: torch.ones(1).pin_memory(),
    ):
        refused(call)

in_child(child)
starting.join()
assert torch.ones(3, device="acme").add(1).tolist() == [2, 2, 2]
""",
        OUTBACK_FAULTS="device_info:1=delay(3s)",
    )
