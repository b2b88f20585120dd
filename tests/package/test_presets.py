"""The presets of a new project, CMakePresets.json: debug, release, asan and tsan."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import ROOT, call, clean_environment
from torch_outback.cli import main

PRESETS = ["debug", "release", "asan", "tsan"]
SANITIZERS = {"asan": "-fsanitize=address,undefined", "tsan": "-fsanitize=thread"}
# What differs between kinds of projects is in the presets with sanitizers.
KINDS = [
    (["--language", "c++"], PRESETS),
    (["--language", "c"], ["asan"]),
    (["--runtime", "host"], ["tsan"]),
]


def new(folder: Path, *options: str) -> Path:
    made = CliRunner().invoke(main, ["new", "acme", "--yes", "--dir", str(folder), *options])
    assert made.exit_code == 0, made.output
    return folder


def configured(project: Path, preset: str) -> str:
    """What CMake says. Built with `cmake --build --preset`, in the same folder."""
    fixed = [f"-DOutback_ROOT={ROOT}", f"-DPython_EXECUTABLE={sys.executable}"]
    return call(["cmake", "--preset", preset, *fixed], cwd=project)


@pytest.mark.parametrize("options, presets", KINDS, ids=["c++", "c", "host"])
def test_each_preset_is_for_all_that_the_project_compiles(tmp_path, options, presets):
    project = new(tmp_path / "a project", *options)
    for preset in presets:
        said = configured(project, preset)
        assert "Manually-specified variables were not used" not in said
        lines = json.loads((project / f"build/{preset}/compile_commands.json").read_text())
        commands = {Path(it["file"]).name: it["command"].split() for it in lines}
        module = commands["kernels.cpp"]
        assert ("-O3" in module, "-g" in module) == (preset == "release", preset != "release")
        # Where the torch half is compiled here, that is said, and it is compiled alike.
        half = [it["command"] for it in lines if "outback_torch" in it["command"]]
        if preset in SANITIZERS:
            flag = SANITIZERS[preset]
            assert f"torch half is compiled in this project, because of {flag}" in said
            assert half and all(flag in it["command"].split() for it in lines)
        else:
            assert not half
        suite = [it for it in lines if "acme_suite" in it["command"]]
        assert bool(suite) == (options[0] != "--runtime")


# A byte behind the end of what is allocated.
FAULTS = {
    "c++": ("memcpy(to, from, size);", "memcpy(to, from, size + 1);"),
    "c": ("memcpy(dst, src, size);", "memcpy(dst, src, size + 1);"),
}


def built(project: Path, preset: str, *options: str) -> None:
    call(["cmake", "--build", "--preset", preset, "--parallel", "2", *options], cwd=project)


def ran(project: Path, preset: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        ["ctest", "--preset", preset, "--parallel", "2"],
        cwd=project,
        env=clean_environment(),
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("preset", PRESETS)
def test_each_preset_builds_all_and_its_suite_passes(tmp_path, preset):
    project = new(tmp_path / "acme")
    configured(project, preset)
    built(project, preset)
    done = ran(project, preset)
    assert done.returncode == 0, done.stdout
    assert "acme_suite.summary" in done.stdout
    if preset == "tsan":  # to which torch's own threads are a race
        return
    variables = {"PYTHONPATH": str(project / f"build/{preset}/python")}
    if preset == "asan":
        readme = (project / "README.md").read_text()
        preload = re.search(r"`LD_PRELOAD=(.*)`", readme).group(1)
        variables["LD_PRELOAD"] = call(["sh", "-c", f"printf %s {preload}"])
        variables["ASAN_OPTIONS"] = re.search(r"`ASAN_OPTIONS=(.*)`", readme).group(1)
    call([sys.executable, "-m", "pytest", "tests/test_smoke.py"], cwd=project, **variables)


@pytest.mark.slow
@pytest.mark.parametrize("language", FAULTS)
def test_asan_reports_what_is_written_behind_an_allocation(tmp_path, language):
    project = new(tmp_path / "acme", "--language", language)
    runtime = project / ("src/runtime.c" if language == "c" else "src/runtime.cpp")
    before, after = FAULTS[language]
    text = runtime.read_text()
    assert text.count(before) == 1
    runtime.write_text(text.replace(before, after))
    configured(project, "asan")
    built(project, "asan", "--target", "acme_suite")
    done = ran(project, "asan")
    assert done.returncode != 0
    assert "AddressSanitizer: heap-buffer-overflow" in done.stdout, done.stdout[-4000:]
    assert f"/{runtime.name}:" in done.stdout
