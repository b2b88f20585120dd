"""Autograd of plain CUDA tensors, with a backend in the process and without (pytorch#161129)."""

import os
from pathlib import Path

import pytest

# Prints a line for each way: its name, and what went wrong.
WAYS = """
import sys
import torch

def leaf(device="cuda"):
    return torch.ones(4, device=device, requires_grad=True)

def backward():
    x = leaf()
    (x * 2).sum().backward()
    assert x.grad.is_cuda

def without_threads():
    with torch.autograd.set_multithreading_enabled(False):
        backward()

def grad():
    x = leaf()
    torch.autograd.grad((x * 2).sum(), x)

def func_grad():
    torch.func.grad(lambda x: (x * 2).sum())(leaf().detach())

def several_roots():
    x, y = leaf(), leaf()
    torch.autograd.backward([(x * 2).sum(), (x * y).sum()])

def through_cuda():
    x = leaf("cpu")
    (x.cuda() * 2).cpu().sum().backward()
    assert x.grad.device.type == "cpu"

def on_cpu():
    (leaf("cpu") * 2).sum().backward()

def ours():
    x = leaf("acme")
    (x * 2).sum().backward()
    assert x.grad.is_acme

OF_CUDA = [backward, without_threads, grad, func_grad, several_roots, through_cuda]
for way in [*OF_CUDA, on_cpu, ours] if "torch_acme" in sys.modules else OF_CUDA:
    try:
        way()
    except RuntimeError as error:
        print(way.__name__, str(error).splitlines()[0])
    else:
        print(way.__name__)
"""
LOADED = """
import sys, torch

print("torch_acme" in sys.modules, torch.cuda.is_initialized())
"""


def package(folder: str, **variables: str) -> dict[str, str]:
    """The variables with which Python finds the backend of that folder of the build."""
    found = Path(os.environ.get("OUTBACK_BUILD_DIR", "build/dev")).resolve() / folder
    if not found.is_dir():
        pytest.skip(f"this build has no {folder}")
    unset = dict.fromkeys(("OUTBACK_AUTOLOAD", "OUTBACK_AUTOLOAD_SAID"), "")
    return unset | {"PYTHONPATH": os.fspath(found)} | variables


def test_torch_alone_has_no_trouble(on_cuda):
    ways = on_cuda(WAYS).output.splitlines()
    assert len(ways) == 6 and all(" " not in way for way in ways), ways


# If PyTorch mends it, this fails: then `import torch` may load backends beside CUDA again.
@pytest.mark.parametrize("folder", ["python", "python_cuda"])
def test_beside_a_backend_each_way_says_why_it_fails(on_cuda, folder):
    done = on_cuda(WAYS, **package(folder, OUTBACK_AUTOLOAD="1"))
    told = dict(line.partition(" ")[::2] for line in done.output.splitlines())
    assert told.pop("on_cpu") == told.pop("ours") == ""
    assert len(told) == 6
    for way, error in told.items():
        assert "pytorch#161129" in error and "Move the tensors to acme" in error, (way, error)


def test_import_torch_leaves_cuda_its_autograd(on_cuda):
    done = on_cuda(WAYS, **package("python"))
    assert all(" " not in way for way in done.output.splitlines()), done.output
    assert done.errors.startswith("torch_acme was not loaded, since it would break the autograd")


def test_import_torch_starts_no_cuda_to_know_that(on_cuda):
    forks = """
import os
child = os.fork()
if child == 0:
    torch.ones(1, device="cuda")
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert on_cuda(LOADED + forks, **package("python")).output == "False False\n0\n"


@pytest.mark.parametrize(
    "folder, visible", [("python", ""), ("python_cuda", "0")], ids=["no device", "CUDA's own"]
)
def test_import_torch_loads_a_backend(on_cuda, folder, visible):
    done = on_cuda(LOADED, **package(folder, CUDA_VISIBLE_DEVICES=visible))
    assert (done.output, done.errors) == ("True False\n", "")
