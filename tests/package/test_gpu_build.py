"""./dev gpu's part that builds, and the folder .pack that brings it libraries."""

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from dev import gpu, shell
from dev.environment import Environment
from dev.gpu import packing, parts


@pytest.fixture
def build(monkeypatch, tmp_path):
    """Builds for these parts, and returns the commands."""
    monkeypatch.setattr("dev.build.configuring", lambda _, preset, *words: [preset, *words])
    monkeypatch.setattr(packing, "PACK", tmp_path / "pack")

    def run(*only):
        commands = []
        work = SimpleNamespace(
            environment=Environment(Path(sys.executable), "2.13.0", tmp_path),
            folder=tmp_path,
            request=SimpleNamespace(only=only or None),
            run=lambda *command, **_: commands.append([str(word) for word in command]),
        )
        parts._build(work)
        return commands

    return run


def test_all_is_built_at_once_whatever_does_not_compile(build):
    configure, making = build()
    assert configure == ["gpu"]
    targets = making[making.index("--target") + 1 : making.index("--")]
    assert {"cuda_device_suite", "torch_acme_cuda", "bench_cuda"} < set(targets)
    assert making[-1] == "-k"
    assert build("build")[1] == making


def test_what_was_built_before_and_does_not_build_now_is_not_run(build, tmp_path):
    before = tmp_path / "python_cuda/torch_acme/_half/torch-2.13/_C.so"
    before.parent.mkdir(parents=True)
    before.touch()
    build()
    assert not before.exists()


def test_only_what_the_parts_need_is_built(build):
    configure, making = build("build", "suite", "sanitizer")
    assert making[making.index("--target") + 1 : making.index("--")] == ["cuda_device_suite"]
    assert "OUTBACK_BUILD_BENCH=OFF" in configure


def test_the_python_tests_get_the_other_backends_that_they_ask_for():
    asked_for = {
        f"torch_acme_{folder}"
        for file in (ROOT / "tests/python").rglob("*.py")
        for folder in re.findall(r'"python_(plain|protected|null|custom_c)"', file.read_text())
    }
    assert asked_for
    assert asked_for | {"outback_probe", "outback_refusing"} <= set(gpu.PARTS["python"].targets)


# ---- The folder .pack


def test_git_ignores_it():
    command = ["git", "check-ignore", "-q", ".pack/usr/include/fmt/core.h"]
    assert subprocess.run(command, cwd=ROOT).returncode == 0


def test_cmake_finds_what_is_packed(build, tmp_path, monkeypatch):
    """In the folders of the system that it comes from."""

    def run(_, command, **__):
        if command[0] == "dpkg":
            (tmp_path / "pack/usr/lib/some-arch/cmake/fmt").mkdir(parents=True, exist_ok=True)
        if "download" in command:
            (__["cwd"] / "libfmt-dev_9_amd64.deb").touch()

    monkeypatch.setattr(shell, "run", run)
    gpu.pack(Environment(Path(sys.executable), "2.13.0", tmp_path))
    [definition] = [word for word in build()[0] if word.startswith("CMAKE_PREFIX_PATH=")]
    assert definition.endswith("/pack/usr/lib/some-arch/cmake")
