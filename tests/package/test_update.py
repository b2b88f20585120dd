"""`outback update`: a project of an older Outback becomes one of this, with its author's edits.

The older scaffold is data, older_scaffold/: it has no kernels, no hint at pinned memory and a
smaller device in src/runtime.cpp, and a file that is no longer there, src/version.h.
"""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from torch_outback import toolkit
from torch_outback.cli import main

OLDER = Path(__file__).parent / "older_scaffold"


def outback(*arguments: str, **variables: str):
    return CliRunner().invoke(main, list(arguments), env=variables)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project that the older Outback made."""
    with monkeypatch.context() as older:
        older.setattr(toolkit, "template", lambda: OLDER)
        older.setattr(toolkit, "version", lambda: "0.0.7")
        done = outback("new", "foo", "--yes", "--author", "Ada", "--dir", str(tmp_path / "foo"))
    assert done.exit_code == 0, done.output
    return tmp_path / "foo"


@pytest.fixture
def fresh(tmp_path):
    """The same project as this Outback makes it."""
    done = outback("new", "foo", "--yes", "--author", "Ada", "--dir", str(tmp_path / "fresh"))
    assert done.exit_code == 0, done.output
    return tmp_path / "fresh"


def contents(folder: Path) -> dict[str, str]:
    return {
        file.relative_to(folder).as_posix(): file.read_text()
        for file in folder.rglob("*")
        if file.is_file()
    }


def edit(file: Path, before: str, after: str) -> None:
    text = file.read_text()
    assert text.count(before) == 1
    file.write_text(text.replace(before, after))


def test_an_unedited_project_becomes_what_new_makes(project, fresh):
    done = outback("update", str(project))
    assert done.exit_code == 0, done.output
    assert contents(project) == contents(fresh)
    assert "added: src/kernels.cpp" in done.output and "removed: src/version.h" in done.output


def test_edits_are_kept_beside_what_is_new(project, fresh):
    edit(
        project / "src/runtime.cpp",
        "int32_t device_count() { return 1; }",
        "int32_t device_count();",
    )
    edit(project / "README.md", "PyTorch on foo devices", "PyTorch on the best devices")
    (project / "src/driver.cpp").write_text("mine\n")
    done = outback("update", str(project))
    assert done.exit_code == 0, done.output
    runtime = (project / "src/runtime.cpp").read_text()
    assert "int32_t device_count();" in runtime
    assert "Step 7: pinned memory" in runtime and "std::size_t{1} << 30" in runtime
    assert (project / "README.md").read_text() == (fresh / "README.md").read_text().replace(
        "PyTorch on foo devices", "PyTorch on the best devices"
    )
    assert (project / "src/driver.cpp").read_text() == "mine\n"


def test_a_conflict_is_shown_as_git_shows_it_and_nothing_is_lost(project):
    edit(project / "src/runtime.cpp", "std::size_t{64} << 20", "std::size_t{5} << 20")
    done = outback("update", str(project))
    assert done.exit_code == 1
    assert "CONFLICT: src/runtime.cpp" in done.output and "resolve the conflicts" in done.output
    text = (project / "src/runtime.cpp").read_text()
    mine, rest = text.split("<<<<<<< yours\n")[1].split("||||||| as it was made\n")
    before, rest = rest.split("=======\n")
    after, _ = rest.split(">>>>>>> Outback\n")
    assert ["{5} << 20" in mine, "{64} << 20" in before, "{1} << 30" in after] == [True] * 3
    assert (project / "src/kernels.cpp").exists()  # the other files are up to date


def test_a_file_of_the_authors_where_a_new_one_goes_is_a_conflict(project):
    (project / "src/kernels.cpp").write_text("mine\n")
    done = outback("update", str(project))
    assert done.exit_code == 1 and "CONFLICT: src/kernels.cpp" in done.output
    text = (project / "src/kernels.cpp").read_text()
    assert "<<<<<<< yours\nmine\n" in text and "TORCH_LIBRARY_IMPL" in text


def test_what_the_author_deleted_stays_deleted(project):
    (project / "README.md").unlink()
    done = outback("update", str(project))
    assert done.exit_code == 0, done.output
    assert not (project / "README.md").exists() and "left out" in done.output


def test_an_edited_file_that_outback_gave_up_is_kept(project):
    edit(project / "src/version.h", "0.1.0", "0.2.0")
    done = outback("update", str(project))
    assert done.exit_code == 0, done.output
    assert "kept since it was edited: src/version.h" in done.output
    assert "0.2.0" in (project / "src/version.h").read_text()


def test_a_second_update_has_nothing_to_do(project):
    edit(project / "README.md", "PyTorch on foo devices", "PyTorch on the best devices")
    assert outback("update", str(project)).exit_code == 0
    before = contents(project)
    done = outback("update", str(project))
    assert done.exit_code == 0 and "up to date with Outback" in done.output
    assert contents(project) == before


def test_check_says_whether_it_is_behind_and_changes_nothing(project, fresh):
    before = contents(project)
    done = outback("update", "--check", str(project))
    assert done.exit_code == 1 and "src/kernels.cpp" in done.output
    assert "LICENSE" not in done.output  # which did not change
    assert contents(project) == before
    done = outback("update", "--check", str(fresh))
    assert done.exit_code == 0 and "up to date" in done.output


def refused(project: Path, words: str, **variables: str) -> None:
    before = contents(project)
    done = outback("update", str(project), **variables)
    assert done.exit_code == 2 and words in done.output, done.output
    assert contents(project) == before


def test_conflicts_of_an_earlier_update_are_to_be_resolved_first(project):
    edit(project / "README.md", "PyTorch on", "<<<<<<< yours\nPyTorch on")
    refused(project, "README.md has conflicts of an earlier update")


def test_a_project_of_a_newer_outback_is_left_alone(project):
    edit(project / ".outback/project.json", '"0.0"', '"99.0"')
    refused(project, "was made by Outback 99.0")


def test_releases_are_numbers(project, monkeypatch):
    edit(project / ".outback/project.json", '"0.0"', '"0.9"')
    monkeypatch.setattr(toolkit, "version", lambda: "0.10.0")
    done = outback("update", str(project))
    assert done.exit_code == 0, done.output
    assert '"outback": "0.10"' in (project / ".outback/project.json").read_text()


@pytest.mark.parametrize(
    "text, words",
    [
        ("{", "cannot be read"),
        ("[]", "cannot be read"),
        ('{"nome": "foo"}', "cannot be read"),
        ('{"name": "cuda"}', '"cuda" cannot be a device\'s name'),
    ],
)
def test_answers_that_cannot_be_read_are_refused(project, text, words):
    (project / ".outback/project.json").write_text(text)
    refused(project, words)


def test_what_new_did_not_make_is_refused(tmp_path):
    (tmp_path / "mine").write_text("mine")
    refused(tmp_path, "was not made by outback new")


def test_without_what_was_made_it_refuses(project):
    (project / ".outback/template").rename(project / "elsewhere")
    refused(project, "is missing")


def test_without_git_it_refuses(project, tmp_path):
    refused(project, "there is no git on the PATH", PATH=str(tmp_path))


def test_the_answers_stay_and_the_release_moves(project):
    before = json.loads((project / ".outback/project.json").read_text())
    assert outback("update", str(project)).exit_code == 0
    after = json.loads((project / ".outback/project.json").read_text())
    assert (before.pop("outback"), after.pop("outback")) == ("0.0", toolkit.minor_version())
    assert before == after
