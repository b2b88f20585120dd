"""./dev gpu finds what its parts need, or names it before anything is built."""

import json
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from dev import console, gpu
from dev.environment import Environment
from dev.gpu import needs, python
from dev.gpu.packed import Pack
from dev.gpu.places import Places

TESTS = ROOT / "tests/python"


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """A machine with a compiler and with nothing else."""
    environment = Environment(Path(sys.executable), "2.13.0", tmp_path / "build")
    machine = SimpleNamespace(modules={"torch"}, pack=Pack(tmp_path / "pack"), said=[])
    monkeypatch.setattr(Environment, "has", lambda self, module: module in machine.modules)
    places = Places(tmp_path / "site-packages", tmp_path / "site-packages/torch")
    monkeypatch.setattr(Places, "of", lambda _: places)
    monkeypatch.setattr("dev.gpu.places._toolkits", list)
    monkeypatch.setattr("dev.gpu.device.loader_finds_cudart", lambda: False)
    monkeypatch.setattr("dev.system.header", lambda name: lambda: False)
    monkeypatch.setattr("dev.system.COMPILE", ())
    monkeypatch.setattr("shutil.which", lambda name, **_: name if name == "ninja" else None)
    monkeypatch.delenv("OUTBACK_CUDART", raising=False)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setattr(console, "title", machine.said.append)
    machine.site = places.wheels
    machine.provide = lambda *parts: needs.provide(environment, parts, machine.pack)
    return machine


def packed(pack, *distributions, python="any"):
    for library in ("GTest/GTestConfig", "fmt/fmt-config", "benchmark/benchmarkConfig"):
        file = pack.prefix / f"lib/some-arch/cmake/{library}.cmake"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    cuda_headers(pack.cuda / "include", 13000)
    (pack.cuda / "lib").mkdir()
    (pack.cuda / "lib/libcudart.so.13").touch()
    pack.digits.touch()
    about = {name: {"version": "1", "module": name, "for": python} for name in distributions}
    pack.contents.write_text(json.dumps({"python": about}))


def cuda_headers(folder, version):
    (folder / "crt").mkdir(parents=True)
    for name in ("cuda_runtime_api.h", "crt/host_defines.h"):
        (folder / name).touch()
    (folder / "cuda.h").write_text(f"#define CUDA_VERSION {version}\n")


def test_all_that_is_missing_is_named_at_once(bare):
    found = bare.provide(*gpu.PARTS)
    [text] = bare.said
    for what in ("fmt", "GTest", "benchmark", "CUDA's headers", "libcudart", "compute-sanitizer"):
        assert what in text
    for what in ("nvcc", "numpy", "pytest", "xdist", "hypothesis", "expecttest", "rich", "sklearn"):
        assert what in text
    assert "./dev gpu --pack" in text
    assert set(found.blocked) == {*gpu.PARTS} - {"build"}
    assert found.targets == []


def test_only_what_the_parts_need_is_named(bare):
    bare.provide("build", "suite")
    [text] = bare.said
    assert "GTest" in text and "libcudart" in text
    for what in ("benchmark", "rich", "pytest", "sanitizer"):
        assert what not in text


def test_what_is_built_already_needs_nothing_to_build(bare):
    bare.modules |= {"numpy", "pytest", "xdist", "hypothesis", "expecttest", "rich", "sklearn"}
    (bare.site / "torch/lib").mkdir(parents=True)
    (bare.site / "torch/lib/libtorch_cuda.so").touch()
    assert bare.provide("python").blocked == {}
    assert bare.said == []


def test_the_pack_has_what_a_bare_machine_lacks(bare):
    bare.modules |= {"numpy", "pytest"}
    packed(bare.pack, "xdist", "hypothesis", "expecttest", "rich")
    found = bare.provide(*gpu.PARTS)
    assert found.blocked == {
        "sanitizer": ["compute-sanitizer"],
        "in-place": ["torch's CUDA build"],
        "kernel": ["nvcc"],
    }
    assert found.lacking == set()
    assert set(needs.TARGETS) <= set(found.targets)
    for library in ("fmt", "GTest", "benchmark"):
        assert f"{library}_DIR={bare.pack.config(library)}" in found.definitions
    assert f"OUTBACK_CUDA_INCLUDE_DIR={bare.pack.cuda / 'include'}" in found.definitions
    assert found.programs == {"OUTBACK_CUDART": str(bare.pack.cuda / "lib/libcudart.so.13")}
    assert found.python["OUTBACK_CUDART"] == found.programs["OUTBACK_CUDART"]
    assert found.python["OUTBACK_DIGITS"] == str(bare.pack.digits)
    folders = found.python["PYTHONPATH"].split(os.pathsep)
    assert folders == [str(bare.pack.python / name) for name in bare.pack.distributions()]


def test_what_python_has_itself_comes_first(bare):
    bare.modules |= {"numpy", "pytest", "rich", "sklearn"}
    packed(bare.pack, "xdist", "rich")
    variables = bare.provide("python").python
    assert variables["PYTHONPATH"] == str(bare.pack.python / "xdist")
    assert "OUTBACK_DIGITS" not in variables


def test_what_was_compiled_for_another_python_is_missing(bare):
    bare.modules |= {"numpy", "pytest"}
    packed(bare.pack, "hypothesis", python="cpython-39")
    found = bare.provide("python")
    assert "hypothesis" in found.lacking
    assert found.python["PYTHONPATH"] == ""
    assert "python" not in found.blocked
    assert "hypothesis           for some of python" in bare.said[0]


def test_a_torch_with_cuda_keeps_its_own_cudart(bare):
    bare.modules |= {"numpy", "pytest"}
    packed(bare.pack)
    (bare.site / "torch/lib").mkdir(parents=True)
    (bare.site / "torch/lib/libtorch_cuda.so").touch()
    found = bare.provide("suite", "python")
    assert "OUTBACK_CUDART" in found.programs
    assert "OUTBACK_CUDART" not in found.python


def test_the_python_tests_get_the_other_backends_that_they_ask_for(bare):
    bare.modules |= {"numpy", "pytest"}
    packed(bare.pack)
    asked_for = {
        f"torch_acme_{folder}"
        for file in TESTS.rglob("*.py")
        for folder in re.findall(r'"python_(plain|protected|null|custom_c)"', file.read_text())
    }
    assert asked_for
    targets = bare.provide("build", "python").targets
    assert asked_for | {"outback_probe", "outback_refusing"} <= set(targets)
    assert bare.provide("build", "suite").targets == ["cuda_device_suite"]


def test_without_benchmark_the_others_are_built(bare):
    packed(bare.pack)
    (bare.pack.config("benchmark") / "benchmarkConfig.cmake").unlink()
    found = bare.provide("build", "suite", "bench")
    assert found.blocked == {"bench": ["benchmark"]}
    assert found.targets == ["cuda_device_suite"]
    assert "OUTBACK_BUILD_BENCH=OFF" in found.definitions


@pytest.mark.parametrize("version, is_taken", [(12040, False), (12080, True), (13010, True)])
def test_headers_of_the_machine_come_first_unless_they_are_too_old(bare, version, is_taken):
    packed(bare.pack)
    own = bare.site / "nvidia/cu13/include"
    cuda_headers(own, version)
    expected = own if is_taken else bare.pack.cuda / "include"
    assert f"OUTBACK_CUDA_INCLUDE_DIR={expected}" in bare.provide("build").definitions


def test_headers_without_those_of_the_compiler_are_not_enough(bare):
    packed(bare.pack)
    own = bare.site / "nvidia/cu13/include"
    cuda_headers(own, 13000)
    (own / "crt/host_defines.h").unlink()
    definitions = bare.provide("build").definitions
    assert f"OUTBACK_CUDA_INCLUDE_DIR={bare.pack.cuda / 'include'}" in definitions


@pytest.mark.parametrize("module", ["expecttest", "hypothesis", "rich"])
def test_every_test_that_needs_a_module_is_known(module):
    """So that the others can run where it is missing."""
    imported = {"expecttest": r"torch\.testing\._internal\.(common|autocast)_"}
    pattern = re.compile(imported.get(module, rf"^\s*(from|import) {module}\b"), re.MULTILINE)
    needing = set()
    for file in TESTS.rglob("*.py"):
        if not pattern.search(file.read_text()):
            continue
        if file.name.startswith("test_"):
            needing.add(file)
        else:  # then the tests that use that one
            users = [test for test in TESTS.rglob("test_*.py") if file.stem in test.read_text()]
            assert users
            needing.update(users)
    assert {str(file.relative_to(TESTS)) for file in needing} - set(python.NEED[module]) == set()
    for file in python.NEED[module]:
        assert (TESTS / file).exists()
