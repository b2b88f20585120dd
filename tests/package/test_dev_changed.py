"""./dev test --changed: which files differ, and which tests are theirs."""

import re
import subprocess
import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from sample_tree import HOST, sample_tree

from dev import shell
from dev.testing import areas, changed, entries, parts, suites
from dev.testing.areas import AREAS, EVERYTHING, TOOLS
from dev.testing.index import files

ALL_AREAS = (*TOOLS, *AREAS)
FILES = files()


@pytest.fixture
def tree():
    return sample_tree()


@pytest.fixture
def git(tmp_path, monkeypatch):
    """A repository of its own with one commit on main, in which ./dev looks for changes."""
    who = ["-c", "user.name=a", "-c", "user.email=a@example"]

    def run(*command):
        subprocess.run(["git", *who, *command], cwd=tmp_path, check=True, capture_output=True)

    monkeypatch.setattr(shell, "ROOT", tmp_path)
    run("init", "-q", "-b", "main")
    for name in ("kept", "edited", "removed"):
        (tmp_path / name).write_text(name)
    run("add", ".")
    run("commit", "-qm", "first")
    return run


def commit(git, folder, name):
    (folder / name).write_text(name)
    git("add", name)
    git("commit", "-qm", name)


def test_commits_edits_removals_and_new_files_are_changes(git, tmp_path):
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    git("checkout", "-qb", "work")
    commit(git, tmp_path, "committed")
    (tmp_path / "edited").write_text("anew")
    (tmp_path / "removed").unlink()
    (tmp_path / "ünknown").write_text("")
    found = changed.Changes.find()
    assert found.files == ["committed", "edited", "removed", "ünknown"]
    assert found.since == "origin/main"


def test_what_others_have_pushed_since_is_no_change_of_ours(git, tmp_path):
    git("checkout", "-qb", "theirs")
    commit(git, tmp_path, "pushed")
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    git("checkout", "-q", "main")
    commit(git, tmp_path, "ours")
    assert changed.Changes.find().files == ["ours"]


def test_without_origin_main_it_is_main_and_says_so(git, tmp_path):
    git("checkout", "-qb", "work")
    commit(git, tmp_path, "committed")
    found = changed.Changes.find()
    assert found.files == ["committed"]
    assert found.since == "main (there is no origin/main)"


def test_without_any_main_it_is_the_last_commit(git, tmp_path):
    git("branch", "-qm", "trunk")
    (tmp_path / "edited").write_text("anew")
    found = changed.Changes.find()
    assert found.files == ["edited"]
    assert found.since.startswith("the last commit")


# ---- The table


def test_every_file_has_been_thought_of():
    unknown = [name for name in FILES if not areas.is_listed(name)]
    assert not unknown, "in no area of tools/dev/testing/areas.py, nor in its EVERYTHING"


@pytest.mark.parametrize("area", ALL_AREAS, ids=lambda area: area.name)
def test_an_area_has_files_and_tests(area):
    mine = [name for name in FILES if areas.of(name) == area]
    assert mine, f"no file is in {area.name}"
    for pattern in area.files:
        assert any(areas._matches(name, [pattern]) for name in FILES), f"{pattern} is no file"
    for test in areas.tests((*area.python, *area.everywhere, *area.first), FILES):
        assert (ROOT / test).exists(), test
        assert suites.of(test), f"no suite runs {test}"
    for pattern in (*area.python, *area.everywhere):
        assert areas.tests([pattern], FILES), pattern
    assert {part.name for part in parts.named(list(area.parts))} == set(area.parts)
    assert all(suites.on(run) for run in area.runs)
    tests = (*area.python, *area.everywhere, *area.parts, area.near, area.always)
    assert any(tests) or area.itself


@pytest.mark.parametrize("area", ALL_AREAS, ids=lambda area: area.name)
def test_an_area_names_entries_that_ctest_has(area, build_tree):
    names = [entry.name for entry in entries.read(build_tree)]
    for pattern in filter(None, (area.near, area.always)):
        # A build without a driver's headers has none of its tests.
        driver = pattern.startswith(("^(cuda", "^(ze"))
        assert driver or any(re.search(pattern, name) for name in names), pattern


@pytest.mark.parametrize("pattern", EVERYTHING)
def test_what_concerns_everything_is_there(pattern):
    assert any(areas._matches(name, [pattern]) for name in FILES), pattern


# ---- The choice


@pytest.mark.parametrize(
    "file, why",
    [
        ("new_folder/thing.cpp", "is in no area"),
        ("backend_template/include/outback/runtime.h", "concerns every test"),
        ("backend_template/core/CMakeLists.txt", "concerns every test"),
        ("tools/dev/build.py", "concerns every test"),
    ],
)
def test_a_file_of_no_area_means_everything(file, why):
    assert changed.plan(["docs/memory.md", file]).everything == f"{file} {why}"


def test_a_source_means_what_is_linked_with_it_and_its_area(tree):
    plan = changed.plan(["backend_template/core/streams/event.cpp"])
    assert not plan.everything
    choice = changed.choose(plan, tree, FILES)
    assert choice.whole == {"core_test"}
    assert choice.python[HOST] == ["tests/python"]
    for suite in set(suites.PYTHON_SUITES) - {HOST}:
        assert "tests/python/streams" in choice.python[suite]
    said = changed.explanation(plan, choice)
    assert "the core: backend_template/core/streams/event.cpp" in said
    assert "cpp: 1 of ctest's entries" in said


def test_a_changed_test_means_itself_wherever_it_runs(tree):
    test = "tests/python/streams/test_events.py"
    choice = changed.choose(changed.plan([test]), tree, FILES)
    assert all(test in choice.python[suite] for suite in suites.PYTHON_SUITES)
    source = "tests/core/event_test.cpp"
    assert changed.choose(changed.plan([source]), tree, FILES).whole == {"core_test"}


def test_a_runtime_means_its_own_run(tree):
    plan = changed.plan(["backend_template/runtimes/cuda/table.cpp"])
    python = changed.choose(plan, tree, FILES).python
    assert [suite.name for suite in python if suite in suites.PYTHON_SUITES] == ["python-cuda"]


@pytest.mark.parametrize("file", ["tests/cuda_in_place/cpu_scalars.txt", "docs/memory.md"])
def test_tests_that_read_the_tree_run_whatever_has_changed(tree, file):
    (package,) = suites.of("tests/package/test_layers.py")
    chosen = changed.choose(changed.plan([file]), tree, FILES).python[package]
    assert set(areas.READERS) <= set(chosen)
    assert set(areas.READERS) <= set(FILES)


def test_a_removed_test_means_nothing_that_is_not_there(tree):
    test = "tests/python/streams/test_gone.py"
    choice = changed.choose(changed.plan([test]), tree, FILES)
    assert not any(test in tests for tests in choice.python.values())


def test_pages_mean_the_parts_that_check_them():
    assert "site" in changed.plan(["docs/memory.md", "README.md"]).parts
