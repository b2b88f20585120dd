"""The Python that ./dev sets up, and the one that it is given."""

import os
import re
import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from dev import environment

UNWANTED = "PYTHONDONTWRITEBYTECODE"


@pytest.fixture
def no_bytecode(monkeypatch):
    monkeypatch.setenv(UNWANTED, "1")


@pytest.mark.parametrize("how", [environment.provide, environment.found])
def test_its_own_keeps_the_bytecode_that_pip_did_not_make(no_bytecode, monkeypatch, how):
    """Else torch would be compiled at each import."""
    monkeypatch.setattr(environment, "_is_up_to_date", lambda *_: True)
    assert how(environment.DEFAULT_TORCH, None, "run").torch == environment.DEFAULT_TORCH
    assert UNWANTED not in os.environ
    assert "--no-compile" in environment._pip(how(environment.DEFAULT_TORCH, None))


def test_anothers_writes_what_its_owner_wants(no_bytecode):
    """tests/mutants: a source that changes twice in a second must not be read from a cache."""
    environment.active(())
    assert os.environ[UNWANTED] == "1"


def test_a_commits_formatters_are_those_of_lint():
    """Another release of a formatter formats otherwise."""
    pinned = (ROOT / "tools/dev/requirements/lint.txt").read_text()
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    releases = dict(re.findall(r"/(?:mirrors-)?([a-z-]+?)(?:-pre-commit)?\n +rev: v(\S+)", hooks))
    assert set(releases) == {"clang-format", "ruff"}
    for tool, release in releases.items():
        assert f"\n{tool}=={release}\n" in pinned


def test_intels_opencl_driver_is_installed_once_and_found_by_its_real_path(tmp_path, monkeypatch):
    ran = []
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    monkeypatch.setattr(environment.shell, "run", lambda log, command: ran.append(log))
    first = environment.provide_intel_opencl()
    assert ran == ["venv-intel-opencl", "pip-intel-opencl"]
    assert environment.provide_intel_opencl() == first
    assert len(ran) == 2
    home = tmp_path / ".venv-intel-opencl"
    assert first == {"OCL_ICD_VENDORS": f"{home}/vendors", "LD_LIBRARY_PATH": f"{home}/lib"}
    assert (home / "vendors/intel.icd").read_text() == f"{home}/lib/libintelocl.so\n"
