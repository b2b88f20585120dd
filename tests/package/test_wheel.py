"""A backend's way to its users: the two wheels, from paths with a space in them."""

import sys
from pathlib import Path

import pytest
from conftest import ROOT, call

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


@pytest.fixture(scope="module")
def toolkit_wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toolkit")
    call([*PIP_WHEEL, "-w", folder, ROOT])
    (wheel,) = folder.glob("*.whl")
    return wheel


def test_the_toolkit_wheel_fits_every_python(toolkit_wheel):
    assert toolkit_wheel.name.endswith("-py3-none-any.whl")


@pytest.fixture
def toolkit(toolkit_wheel, environment):
    """An environment with Outback's wheel, and no way to the source tree."""
    environment.pip("install", "-q", "--no-deps", "--no-index", toolkit_wheel)
    return environment


def test_the_installed_toolkit_says_where_it_is(toolkit):
    said = call([toolkit.python, "-m", "torch_outback", "--cmake-dir"]).strip()
    assert said == str(toolkit.site / "torch_outback/share/outback/cmake")
    assert Path(said, "OutbackConfig.cmake").exists()
    said = call([toolkit.python, "-m", "torch_outback", "--include-dir"]).strip()
    assert Path(said, "outback/runtime.h").exists()


def test_the_installed_command_makes_a_project(toolkit, tmp_path):
    command = toolkit.python.with_name("outback")
    call([command, "new", "foo", "--yes", "--dir", tmp_path / "foo"])
    assert "find_package(Outback" in (tmp_path / "foo/CMakeLists.txt").read_text()
    call([command, "update", "--check", tmp_path / "foo"])


def test_the_conformance_suite_is_installed(toolkit):
    said = call([toolkit.python, "-m", "torch_outback.conformance", "--help"])
    assert "--device" in said


@pytest.mark.slow
def test_a_backend_is_made_built_installed_and_used(toolkit, tmp_path):
    """Everything that a vendor does, with no more of Outback at hand than its wheel."""
    project = tmp_path / "a project with spaces"
    call([toolkit.python.with_name("outback"), "new", "foo", "--yes", "--dir", project])
    call(
        [toolkit.python, *PIP_WHEEL[1:], "-w", tmp_path / "dist", project],
        CMAKE_BUILD_PARALLEL_LEVEL="2",
    )
    (wheel,) = (tmp_path / "dist").glob("torch_foo-*.whl")
    toolkit.pip("install", "-q", "--no-deps", "--no-index", wheel)
    call([toolkit.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", project / "tests"])
    toolkit.pip("uninstall", "-q", "-y", "torch-outback")  # which a backend's users need not have
    done = toolkit.run("import torch; print(torch.ones(2, device='foo').sum().item())")
    assert done.stdout == "2.0\n", done.stderr
