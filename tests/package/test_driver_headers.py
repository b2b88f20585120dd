"""The runtimes of CUDA, Level Zero and OpenCL need headers: without them they are left out, or
asked for."""

import subprocess

import pytest
from conftest import ROOT, call, clean_environment

CASES = {
    "CUDA": "OUTBACK_CUDA_INCLUDE_DIR",
    "LEVEL_ZERO": "OUTBACK_LEVEL_ZERO_INCLUDE_DIR",
    "OPENCL": "OUTBACK_OPENCL_INCLUDE_DIR",
}


def command(tmp_path, variable: str, *definitions: str) -> list:
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    fixed = ["-DOUTBACK_BUILD_TORCH=OFF", f"-D{variable}={nothing}"]
    return ["cmake", "-S", ROOT, "-B", tmp_path / "build", *fixed, *definitions]


@pytest.mark.parametrize("runtime", CASES)
def test_without_headers_a_runtime_is_left_out(runtime, tmp_path):
    said = call(command(tmp_path, CASES[runtime]))
    words = runtime.replace("LEVEL_ZERO", "Level Zero").replace("OPENCL", "OpenCL")
    assert f"Outback: no {words} headers, so no {words} runtime" in said


@pytest.mark.parametrize("runtime", CASES)
def test_a_runtime_that_was_asked_for_stops_without_headers(runtime, tmp_path):
    asked = command(tmp_path, CASES[runtime], f"-DOUTBACK_RUNTIME_{runtime}=ON")
    done = subprocess.run(asked, env=clean_environment(), capture_output=True, text=True)
    assert done.returncode != 0
    said = " ".join(done.stderr.split())
    assert f"OUTBACK_RUNTIME_{runtime} is ON, but" in said
    assert CASES[runtime] in said  # what to set
