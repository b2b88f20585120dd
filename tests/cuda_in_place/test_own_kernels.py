"""Kernels of a vendor's own beside those of torch's CUDA build: examples/cuda_kernel, compiled for
the host. These compute on the stand-in, so values are compared too."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def done(on_cuda):
    build = Path(os.environ.get("OUTBACK_BUILD_DIR", ROOT / "build/dev")).resolve()
    library = build / "examples/cuda_kernel_on_host/swiglu.so"
    if not library.exists():
        pytest.skip(f"{library} is not built")
    return on_cuda(
        os.fspath(ROOT / "tests/examples/swiglu_program.py"),
        os.fspath(library),
        PYTHONPATH=f"{build / 'python_cuda'}:{ROOT / 'examples/cuda_kernel'}",
        OUTBACK_AUTOLOAD="1",
    )


def test_a_kernel_of_ones_own_computes_beside_those_of_torch_cuda(done):
    assert "graphs" in done.output.splitlines()
    kernels = [each for each in done.work if each.name.startswith("swiglu")]
    # It gets torch.cuda's default stream, a stream of its own, the other device, a captured stream.
    default, (side, other, captured, *replays) = kernels[:-5], kernels[-5:]
    assert {(each.device, each.stream) for each in default} == {(0, 0)}
    assert side.stream > 0
    assert (other.device, other.stream) == (1, 0)
    assert captured.when == "captured" and captured.stream > 0
    assert [each.when for each in replays] == ["replayed", "replayed"]


def test_its_arguments_are_not_copied(done):
    """Nor by a kernel of torch.cuda's. Inductor copies single numbers, those of its patterns."""
    others = {each.short_name for each in done.work if each.what == "kernel"}
    assert others == {"swiglu_forward", "swiglu_backward"}
    assert not [each for each in done.work if each.name == "device to device" and each.size > 4]
