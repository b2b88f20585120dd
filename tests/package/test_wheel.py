"""The toolkit's wheel. A backend's, and all the way to its users, is in test_tutorial.py."""

import sys
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT, Environment, call

PIP_WHEEL = [sys.executable, "-m", "pip", "wheel", "-v"]
PIP_WHEEL += ["--no-deps", "--no-index", "--no-build-isolation"]


@pytest.fixture(scope="module")
def building(tmp_path_factory):
    """The toolkit's wheel, and what its build printed."""
    folder = tmp_path_factory.mktemp("toolkit")
    printed = call([*PIP_WHEEL, "-w", folder, ROOT])
    (wheel,) = folder.glob("*.whl")
    return wheel, printed


@pytest.fixture(scope="module")
def toolkit_wheel(building):
    return building[0]


def test_its_build_compiles_nothing(building):
    assert "Making wheel" in building[1] and "Building CXX" not in building[1]


def test_the_toolkit_wheel_fits_every_python(toolkit_wheel):
    assert toolkit_wheel.name.endswith("-py3-none-any.whl")


def test_it_brings_what_its_projects_are_built_with(toolkit_wheel):
    with zipfile.ZipFile(toolkit_wheel) as wheel:
        (metadata,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        assert "\nRequires-Dist: scikit-build-core>=1.0\n" in wheel.read(metadata).decode()


@pytest.mark.parametrize("part", ["doctor", "upgrade", "wheel"])
def test_a_command_is_in_it_as_a_whole(toolkit_wheel, part):
    folder = ROOT / "generators/cli/torch_outback"
    files = [it for it in (folder / part).rglob("*") if it.is_file() and it.suffix != ".pyc"]
    assert files
    with zipfile.ZipFile(toolkit_wheel) as wheel:
        there = set(wheel.namelist())
    assert {f"torch_outback/{file.relative_to(folder)}" for file in files} <= there


def test_what_the_doctor_reads_is_in_it(toolkit_wheel):
    with zipfile.ZipFile(toolkit_wheel) as wheel:
        there = set(wheel.namelist())
    assert "torch_outback/share/outback/docs/variables.md" in there


@pytest.fixture(scope="module")
def toolkit(toolkit_wheel, tmp_path_factory):
    """An environment with Outback's wheel, and no way to the source tree."""
    environment = Environment(tmp_path_factory.mktemp("installed") / "environment")
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


def test_the_conformance_command_is_installed(toolkit, tmp_path):
    said = call([toolkit.python, "-m", "torch_outback.conformance", "--help"])
    assert "--device" in said
    page = tmp_path / "page.html"
    quick = ["--device", "cpu", "--level", "quick", "--suite", "optimizers", "--html", page]
    said = call([toolkit.python.with_name("outback"), "conformance", *quick])
    assert said.startswith("0 of 6 entries declared unsupported; 6 pass, 0 fail")
    text = page.read_text()
    assert text.startswith("<!doctype html>") and "</style>" in text and "optimizers" in text


def test_the_conformance_suites_are_installed(toolkit):
    """All that the source tree has, with what they read."""
    command = [toolkit.python.with_name("outback"), "conformance", "--device", "cpu", "--list"]
    ids = call([*command, "--level", "full"]).splitlines()
    suites = {file.stem for file in (ROOT / "conformance/suites").glob("*.py")} - {"__init__"}
    assert {id.partition("/")[0] for id in ids} >= suites | {"operators", "modules", "optimizers"}
    assert not [id for id in ids if id.endswith("/loading")]
    schema = toolkit.site / "torch_outback/conformance/schema/report-1.json"
    assert schema.read_text() == (ROOT / "conformance/schema/report-1.json").read_text()
