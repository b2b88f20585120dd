"""A backend's way to its users: the two wheels, from paths with a space in them."""

import shutil
import sys

import pytest
from conftest import ROOT, SCAFFOLD, call

PIP_WHEEL = [
    sys.executable,
    "-m",
    "pip",
    "wheel",
    "-q",
    "--no-deps",
    "--no-index",
    "--no-build-isolation",
]


@pytest.fixture
def toolkit_wheel(tmp_path):
    call([*PIP_WHEEL, "-w", tmp_path, ROOT])
    (wheel,) = tmp_path.glob("*.whl")
    return wheel


def test_the_toolkit_wheel_fits_every_python(toolkit_wheel):
    assert toolkit_wheel.name.endswith("-py3-none-any.whl")


def test_the_installed_toolkit_says_where_it_is(toolkit_wheel, environment):
    environment.pip("install", "-q", "--no-deps", "--no-index", toolkit_wheel)
    done = environment.run("import torch_outback; print(torch_outback.prefix())")
    assert done.stdout.strip() == str(environment.site / "torch_outback"), done.stderr
    config = environment.site / "torch_outback/share/outback/cmake/OutbackConfig.cmake"
    assert config.exists()


@pytest.mark.slow
def test_a_backend_is_built_installed_and_used(toolkit_wheel, environment, tmp_path):
    """Everything that a vendor does, with no more of Outback at hand than its wheel."""
    environment.pip("install", "-q", "--no-deps", "--no-index", toolkit_wheel)
    project = tmp_path / "a project with spaces"
    shutil.copytree(SCAFFOLD, project)
    call(
        [environment.python, *PIP_WHEEL[1:], "-w", tmp_path / "dist", project],
        CMAKE_BUILD_PARALLEL_LEVEL="2",
    )
    (wheel,) = (tmp_path / "dist").glob("torch_acme-*.whl")
    call(
        [
            sys.executable,
            "-m",
            "pip",
            "--python",
            environment.python,
            "uninstall",
            "-q",
            "-y",
            "torch-outback",
        ]
    )
    environment.pip("install", "-q", "--no-deps", "--no-index", wheel)
    call([environment.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", project / "tests"])
