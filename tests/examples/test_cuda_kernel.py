"""The kernels of examples/cuda_kernel, compiled for the host, on the stand-in for libcudart.
tests/cuda_in_place runs them with torch's CUDA build."""

import os
import subprocess
import sys

import pytest
from conftest import ROOT, TIMEOUT

sys.path.insert(0, os.fspath(ROOT / "tools"))
from dev.stand_ins import STAND_INS

CUDA = next(each for each in STAND_INS if each.name == "CUDA")


@pytest.fixture
def library(build_tree, on, monkeypatch, tmp_path):
    """That of the kernels; what runs from here on finds the stand-in and a backend for it."""
    folder = build_tree / "examples/cuda_kernel_on_host"
    if not (folder / "swiglu.so").exists():
        pytest.skip(f"{folder} has no kernels: without CUDA's headers there are none")
    on(CUDA.package)
    for name, value in CUDA.variables(build_tree).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("FAKE_CUDART_STRICT", "1")
    (tmp_path / "build").symlink_to(folder)
    return folder / "swiglu.so"


def test_cuda_kernel(library, printed):
    printed("cuda_kernel")


def test_it_computes_on_the_current_stream_of_its_device(library, tmp_path, monkeypatch):
    record = tmp_path / "record.txt"
    monkeypatch.setenv("FAKE_CUDART_RECORD", os.fspath(record))
    monkeypatch.setenv("FAKE_CUDA_ADVERSARIAL", "1")  # what nothing waits for comes too late
    path = os.pathsep.join([os.fspath(ROOT / "examples/cuda_kernel"), os.environ["PYTHONPATH"]])
    monkeypatch.setenv("PYTHONPATH", path)
    program = ROOT / "tests/examples/swiglu_program.py"
    done = subprocess.run(
        [sys.executable, program, library], capture_output=True, text=True, timeout=TIMEOUT
    )
    assert done.returncode == 0, done.stdout + done.stderr
    # When, device, stream; of the last parts of the program.
    work = [line.split("\t") for line in record.read_text().splitlines()]
    kernels = [each[1:4] for each in work if each[0] == "kernel" and each[7].startswith("swiglu")]
    assert [when for when, _, _ in kernels[-3:]] == ["captured", "replayed", "replayed"]
    (_, first, side), (_, second, _) = kernels[-5:-3]
    assert (first, second) == ("0", "1") and side != kernels[0][2]
