"""Tests of torch's CUDA build without a GPU, on a libcudart in software (tests/fakes/cudart).

They run programs with the Python that OUTBACK_CUDA_PYTHON names, which has a CUDA build of torch
(5 GB, so ./dev test --all alone brings one), and with the stand-ins of OUTBACK_BUILD_DIR, a build
tree. The programs have what torch has on a device: its allocator, streams, events, graphs; copies
carry data. Kernels compute nothing: what they would have written is what was there. What a program
did is in its record: each kernel, copy, fill and call of cuBLAS, in the order in which it asked
for them (tests/fakes/cudart/fake_kernels.h). So two programs are compared by what they ask of a
device.

Nobody may read a kernel's result on the host and go on by it (nonzero, unique, .item() of a loss).
cuDNN, cuFFT and cuSOLVER do not start, nor do expandable segments and cudaMallocAsync.
"""

import os
import subprocess
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from families import PROGRAMS, One, Place
from stand_in import LIBRARIES, Run, run, run_ranks

# Without the end of the interpreter, which torch's autograd threads may not survive: one that lets
# go of a graph after backward() has returned may ask for the interpreter's lock then.
END = """
if __name__ == "__main__":
    import os, sys
    sys.stdout.flush()
    os._exit(0)
"""


@pytest.fixture(scope="session")
def _needs() -> tuple[Path, Path]:
    """The Python that has torch's CUDA build, and the folder of the stand-ins."""
    python = os.environ.get("OUTBACK_CUDA_PYTHON")
    if not python:
        pytest.skip(
            "OUTBACK_CUDA_PYTHON names no Python with a CUDA build of torch, which "
            "`pip install torch` brings, and ./dev test --only cuda-in-place"
        )
    folder = Path(os.environ.get("OUTBACK_BUILD_DIR", "build/dev")).resolve() / "tests/fakes/lib"
    for name in LIBRARIES:
        if not (folder / name).exists():
            pytest.skip(f"{folder} has no {name}: OUTBACK_BUILD_DIR names no build tree that has")
    return Path(python), folder


@pytest.fixture(scope="session")
def on_cuda(
    _needs: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Run]:
    """Runs a program, its text or the name of one of programs/, to its end, which has to be one of
    success. `variables` are set for it."""
    python, folder = _needs

    def start(program: str, *arguments: str, **variables: str) -> Run:
        where = tmp_path_factory.mktemp("program")
        text = textwrap.dedent(program) if "\n" in program else (PROGRAMS / program).read_text()
        file = where / "program.py"
        file.write_text(f"{text}\n{END}")
        return run([python, file, *arguments], folder, where / "record.txt", variables)

    return start


def backend() -> Path:
    """The folder to import torch_acme from, on the CUDA runtime, without kernels of its own."""
    folder = Path(os.environ.get("OUTBACK_BUILD_DIR", "build/dev")).resolve()
    if not (folder / "python_cuda_kernels").is_dir():
        pytest.skip(f"{folder} has no python_cuda_kernels: it was built without the CUDA runtime")
    return folder / "python_cuda_kernels"


@pytest.fixture
def on_device(on_cuda: Callable[..., Run]) -> Callable[..., Run]:
    """The same for a text that finds torch, with the device acme, imported."""

    def start(program: str, *arguments: str, **variables: str) -> Run:
        text = f"import torch, torch_acme\n{textwrap.dedent(program)}"
        return on_cuda(text, *arguments, PYTHONPATH=os.fspath(backend()), **variables)

    return start


@pytest.fixture
def on_ranks(_needs: tuple[Path, Path], tmp_path: Path) -> Callable[..., list[Run]]:
    """Runs a text, or the name of one of programs/distributed, in several processes that
    communicate (stand_in.run_ranks). It finds torch with the device acme, `dist`, and what
    programs/distributed/ranks.py has."""
    python, folder = _needs
    modules = PROGRAMS / "distributed"

    def start(
        program: str,
        size: int = 2,
        codes: Mapping[int, int] = {},
        arguments: Sequence[str] = (),
        **variables: str,
    ) -> list[Run]:
        where = tmp_path / f"ranks_{len(list(tmp_path.iterdir()))}"
        where.mkdir()
        is_text = "\n" in program
        text = textwrap.dedent(program) if is_text else (modules / program).read_text()
        file = where / "program.py"
        file.write_text(f"from ranks import *\n{text}\nfinish()\n")
        path = os.pathsep.join((os.fspath(backend()), os.fspath(modules)))
        variables = {"PYTHONPATH": path, **variables}
        return run_ranks([python, file, *arguments], size, folder, where, variables, codes)

    return start


@pytest.fixture(scope="session")
def release(_needs: tuple[Path, Path]) -> str:
    """Of the torch that the programs run with: "2.13.0+cu130"."""
    ask = "import importlib.metadata as m; print(m.version('torch'))"
    return subprocess.run(
        [_needs[0], "-c", ask], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture
def family(_needs: tuple[Path, Path], tmp_path: Path) -> Callable[..., list[One]]:
    """Runs a family of programs (programs/families) on a device."""

    def start(name: str, device: str, *rest: Path, **named: str) -> list[One]:
        with_device = None if device == "cuda" else backend()
        return Place(*_needs, tmp_path, with_device).run(name, device, *rest, **named)

    return start
