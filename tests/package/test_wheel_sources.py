"""Which files of a project are the sources that a wheel is made of."""

import subprocess
import sys

import pytest
from conftest import ROOT
from torch_outback.refused import Refused
from torch_outback.wheel import sources


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "acme"
    for name in ("CMakeLists.txt", "pyproject.toml", "src/kernels.cpp", "README.md"):
        put(folder / name)
    return folder


def put(file, text="1"):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def names(project, *without):
    return set(sources.read(project, without).digests)


OWN = {"CMakeLists.txt", "pyproject.toml", "src/kernels.cpp", "README.md"}


def test_what_a_build_makes_is_no_source(project):
    for name in ("build/x.o", "dist/x.whl", ".git/HEAD", "torch_acme/__pycache__/x.pyc", "env/x"):
        put(project / name)
    put(project / "env/pyvenv.cfg")
    assert names(project) == OWN
    put(project / "wheels/x")
    assert names(project, project / "wheels") == OWN
    assert names(project) == OWN | {"wheels/x"}


@pytest.mark.parametrize("name", ["torch_acme/dist/x.py", "src/build/x.cpp", "linked/x.h"])
def test_what_is_below_the_top_is_a_source(project, tmp_path, name):
    (tmp_path / "common").mkdir()
    (project / "linked").symlink_to(tmp_path / "common")
    (tmp_path / "common/itself").symlink_to(tmp_path / "common")
    put(project / name)
    before = sources.read(project)
    put(project / name, "2")
    after = sources.read(project)
    assert before.differences(after) == [name] and before.hash != after.hash


@pytest.mark.parametrize("name", ["wheel.log", "src/x.log"])
def test_what_a_command_prints_is_no_source(project, name):
    put(project / name)
    assert names(project) == OWN


def test_the_file_that_this_output_goes_to_is_no_source(project):
    """outback wheel . > output"""
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'generators/cli')!r})\n"
        "from pathlib import Path\n"
        "from torch_outback.wheel import sources\n"
        f"print(*sources.read(Path({str(project)!r})).digests)"
    )
    with (project / "output").open("w") as output:
        subprocess.run([sys.executable, "-c", program], stdout=output, check=True)
    assert set((project / "output").read_text().split()) == OWN


def test_what_git_ignores_is_no_source(project):
    put(project / ".gitignore", "made/\n*.tmp\n")
    for name in ("made/x.cpp", "x.tmp", "src/x.tmp", "tracked.tmp", "src/new.cpp"):
        put(project / name)
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    subprocess.run(["git", "add", "-f", "tracked.tmp"], cwd=project, check=True)
    assert names(project) == OWN | {"tracked.tmp", "src/new.cpp"}


def test_a_clone_that_git_does_not_read_is_refused(project):
    """One of another user, say, where git wants to be told that it is safe."""
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    put(project / ".git/config", "[core")
    with pytest.raises(Refused, match=r"ignores in .*/acme: fatal: bad config line \d in file"):
        names(project)


def test_a_project_that_another_clone_ignores_has_its_sources(project, tmp_path):
    put(tmp_path / ".gitignore", "acme/\n")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    assert names(project) == OWN
