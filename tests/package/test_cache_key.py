"""The key of a compiled half: of what it is made, and of what not."""

import os
import shutil
import sys

import pytest
from conftest import ROOT, call
from torch_outback import cache_key, toolkit
from torch_outback.cache_key import Key
from torch_outback.refused import Refused

COMPILER = """#!/bin/sh
case "$*" in
  *--version) echo "${{0##*/}} {version}" ;;
  *-dumpmachine) echo {target} ;;
esac
"""


@pytest.fixture
def key(tmp_path, monkeypatch):
    """The key's name, with a compiler, a torch and a tree of sources that a test may change."""
    compiler = tmp_path / "compiler"

    def compiler_is(version: str, target: str) -> None:
        compiler.write_text(COMPILER.format(version=version, target=target))
        compiler.chmod(0o755)

    compiler_is("12.2", "x86_64-linux-gnu")
    for name in ("CXXFLAGS", "LDFLAGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CXX", f"{compiler} -march=native")
    monkeypatch.setenv("CMAKE_TOOLCHAIN_FILE", os.fspath(tmp_path / "toolchain.cmake"))
    monkeypatch.setattr(cache_key, "_PROCESSORS", tmp_path / "cpuinfo")
    (tmp_path / "cpuinfo").write_text("flags\t: fpu\n")
    monkeypatch.setattr(toolkit, "tree", lambda: tmp_path)
    (tmp_path / "CMakeLists.txt").write_text("project(Outback VERSION 1.2.3)")
    (tmp_path / "registration").mkdir()
    (tmp_path / "registration/a.cpp").write_text("int a;")

    torch = tmp_path / "torch"
    (torch / "include/c10").mkdir(parents=True)
    (torch / "include/c10/a.h").write_text("class A;")
    (torch / "version.py").write_text("__version__ = '2.99.0+cpu'\ncuda = None\n")
    monkeypatch.setattr(cache_key, "torch_folder", lambda: name.torch)

    def name(flags: str = "") -> str:
        return cache_key.of_this_process(flags).name

    def old_abi() -> None:
        (torch / "share/cmake/Torch").mkdir(parents=True)
        (torch / "share/cmake/Torch/TorchConfig.cmake").write_text("_GLIBCXX_USE_CXX11_ABI=0")

    name.old_abi = old_abi
    name.torch = torch
    name.compiler = compiler
    name.compiler_is = compiler_is
    name.machine_is = (tmp_path / "cpuinfo").write_text
    name.toolchain = tmp_path / "toolchain.cmake"
    name.source = tmp_path / "registration/a.cpp"
    return name


def test_the_key_stays_and_tells_what_it_is_for(key):
    assert key() == key()
    assert key().startswith("1.2.3-torch-2.99.0+cpu-cpython-")


def test_the_key_is_of_contents_and_not_of_paths(key, monkeypatch, tmp_path):
    before = key()
    key.torch = shutil.copytree(key.torch, tmp_path / "build isolation/torch")
    other = key.compiler.with_name("c++")
    shutil.copy(key.compiler, other)
    monkeypatch.setenv("CXX", f"'{other}' -march=native")
    assert key() == before


def test_the_key_of_this_torch_reads_it_and_does_not_import_it():
    code = (
        "import sys; from torch_outback import cache_key; print(cache_key.of_this_process().name)"
    )
    said = call(
        [sys.executable, "-c", f"{code}; sys.exit('torch' in sys.modules)"],
        PYTHONPATH=os.fspath(ROOT / "generators/cli"),
    )
    import torch

    assert f"-torch-{torch.__version__}-" in said


@pytest.mark.parametrize(
    "change",
    [
        lambda key, patch: key.compiler_is("13.1", "x86_64-linux-gnu"),
        lambda key, patch: key.compiler_is("12.2", "aarch64-linux-gnu"),
        lambda key, patch: patch.setenv("CXX", f"{os.environ['CXX']} -m32"),
        lambda key, patch: patch.setenv("CXXFLAGS", "-D_GLIBCXX_ASSERTIONS"),
        lambda key, patch: patch.setenv("LDFLAGS", "-fuse-ld=mold"),
        lambda key, patch: key.toolchain.write_text("set(CMAKE_CXX_FLAGS -O3)"),
        lambda key, patch: key.machine_is("flags\t: fpu avx512f"),
        lambda key, patch: patch.setattr(os, "confstr", lambda name: "glibc 2.99"),
        lambda key, patch: (key.torch / "version.py").write_text("__version__ = '2.99.0+cpu'\n"),
        lambda key, patch: (key.torch / "version.py").write_text("__version__ = '2.99.1'\n"),
        lambda key, patch: (key.torch / "include/c10/a.h").write_text("class B;"),
        lambda key, patch: (key.torch / "include/c10/b.h").write_text(""),
        lambda key, patch: key.old_abi(),
        lambda key, patch: key.source.write_text("int b;"),
        lambda key, patch: key.source.rename(key.source.with_name("b.cpp")),
    ],
    ids=(
        [
            "release",
            "target",
            "arguments",
            "CXXFLAGS",
            "LDFLAGS",
            "toolchain",
            "machine",
            "libc",
            "build",
            "torch",
            "header",
            "another header",
            "ABI",
            "source",
            "name",
        ]
    ),
)
def test_what_makes_another_module_makes_another_key(key, monkeypatch, change):
    before = key()
    change(key, monkeypatch)
    assert key() != before


def test_without_a_compiler_the_rest_of_the_key_is_the_same(key, monkeypatch):
    before = cache_key.of_this_process()
    monkeypatch.setenv("CXX", "/nowhere/c++")
    assert cache_key.of_this_process() == Key(before.fixed, None)


def test_a_cxx_that_is_no_command_is_refused(key, monkeypatch):
    monkeypatch.setenv("CXX", "g++ '")
    with pytest.raises(Refused, match=r"^CXX=g\+\+ ': expected a command .* quotation"):
        key()


def test_a_cxx_that_cannot_be_started_is_refused(key, monkeypatch, tmp_path):
    compiler = tmp_path / "cxx"
    compiler.write_bytes(b"\x7fELF of another machine")
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", f"{compiler} -O2")
    with pytest.raises(Refused, match=f"^CXX={compiler} -O2: {compiler} cannot be started: Exec"):
        key()


def test_a_link_to_nowhere_among_the_sources_is_none_of_them(key, tmp_path):
    before = key()
    (tmp_path / "registration/.#a.cpp").symlink_to("somebody@machine.1")
    assert key() == before
