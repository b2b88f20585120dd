"""`outback update`: a project of an older Outback becomes one of this, with its author's edits.

The older scaffold is data, older_scaffold/: it has no kernels, no hint at pinned memory and a
smaller device in src/runtime.cpp, a file that is no longer there, src/version.h, and a test that
calls `python -m torch_outback.conformance`.
"""

import errno
import json
import os
import re
import signal
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import call
from torch_outback import answers, toolkit
from torch_outback.cli import main
from torch_outback.conformance import safe_files

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


def test_the_older_command_of_the_samples_becomes_outback_conformance(project):
    """With what the author has chosen beside it."""
    test = project / "tests/test_operators.py"
    edit(test, '"sort", "where"]', '"sort", "where", "fft.fft"]')
    assert "torch_outback.conformance" in test.read_text()
    done = outback("update", str(project))
    assert done.exit_code == 0, done.output
    assert "added: conformance/run.sh" in done.output
    text = test.read_text()
    assert '"fft.fft"]' in text and '"-m", "torch_outback", "conformance"' in text
    assert not [file for file, it in contents(project).items() if "torch_outback.conf" in it]


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


def test_presets_of_the_authors_are_not_overwritten(project):
    presets = project / "CMakePresets.json"
    mine = '{"version": 3, "configurePresets": [{"name": "mine"}]}\n'
    presets.write_text(mine)
    done = outback("update", str(project))
    assert done.exit_code == 1 and "CONFLICT: CMakePresets.json" in done.output
    assert f"<<<<<<< yours\n{mine}" in presets.read_text()
    presets.write_text(mine)  # which resolves it
    done = outback("update", str(project))
    assert done.exit_code == 0 and "up to date with Outback" in done.output
    assert presets.read_text() == mine


def test_an_edited_project_builds_after_an_update(project, own_outback):
    """The author's code, which is in the older runtime, against this Outback's wheel."""
    edit(
        project / "src/runtime.cpp",
        "int32_t device_count() { return 1; }",
        "int32_t device_count() { return foo_count; }",
    )
    edit(
        project / "src/runtime.cpp",
        "#include <cstdlib>\n",
        '#include <cstdlib>\n#include "driver.h"\n',
    )
    (project / "src/driver.h").write_text("inline constexpr int foo_count = 3;\n")
    done = outback("update", str(project))
    assert done.exit_code == 0, done.output
    build = project / "build"
    place = f"-DOutback_DIR={own_outback.site}/torch_outback/share/outback/cmake"
    call(["cmake", "-S", project, "-B", build, place, f"-DPython_EXECUTABLE={own_outback.python}"])
    call(["cmake", "--build", build, "--target", "torch_foo", "--parallel", "2"])
    use = "import torch, torch_foo; print(torch.foo.device_count(), torch.ones(2).foo().sum())"
    said = call([sys.executable, "-c", use], PYTHONPATH=str(build / "python"))
    assert said == "3 tensor(2., device='foo:0')\n"


def test_what_the_author_deleted_stays_deleted(project):
    (project / "README.md").unlink()
    done = outback("update", str(project))
    assert done.exit_code == 0, done.output
    assert not (project / "README.md").exists() and "left out" in done.output


def test_an_edited_file_that_outback_gave_up_is_kept(project):
    edit(project / "src/version.h", "0.1.0", "0.2.0")
    done = outback("update", str(project))
    assert done.exit_code == 1, done.output
    assert "kept since it was edited: move your edits: src/version.h" in done.output
    assert "0.2.0" in (project / "src/version.h").read_text()
    assert "src/module.cpp" not in done.stderr


def test_edited_options_of_the_module_are_to_be_moved(project):
    edit(project / "src/module.cpp", '.name = "foo"', '.name = "foo", .fallback = warn')
    done = outback("update", str(project))
    assert done.exit_code == 1, done.output
    assert "arguments of load() in torch_foo/__init__.py now" in done.stderr
    assert ".fallback = warn" in (project / "src/module.cpp").read_text()


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
    assert done.output.startswith("outback: ") and done.output.count("\n") == 1
    assert contents(project) == before


def test_conflicts_of_an_earlier_update_are_to_be_resolved_first(project):
    edit(project / "README.md", "PyTorch on", "<<<<<<< yours\nPyTorch on")
    refused(project, "README.md has conflicts of an earlier update")


@pytest.fixture
def in_conflict(project):
    """A project that an update has brought up to date, but for a conflict in src/runtime.cpp."""
    edit(project / "src/runtime.cpp", "std::size_t{64} << 20", "std::size_t{5} << 20")
    assert outback("update", str(project)).exit_code == 1
    return project


@pytest.mark.parametrize("options", [[], ["--check"]])
@pytest.mark.parametrize("left", ["all", "<<<<<<< yours", "||||||| as it was", ">>>>>>> Outback"])
def test_with_conflicts_in_it_nothing_is_up_to_date(in_conflict, options, left):
    runtime = in_conflict / "src/runtime.cpp"
    if left != "all":
        lines = runtime.read_text().splitlines(keepends=True)
        marks = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")
        kept = [line for line in lines if not line.startswith(marks) or line.startswith(left)]
        assert len(kept) == len(lines) - 3
        runtime.write_text("".join(kept))
    before = contents(in_conflict)
    done = outback("update", *options, str(in_conflict))
    assert done.exit_code == 1 and "up to date" not in done.output
    assert "CONFLICT: src/runtime.cpp\n" in done.output and "resolve the conflicts" in done.output
    assert contents(in_conflict) == before


def test_with_its_conflicts_resolved_it_is_up_to_date(in_conflict):
    (in_conflict / "src/runtime.cpp").write_text("resolved\n\nHeading\n=======\n")
    done = outback("update", str(in_conflict))
    assert done.exit_code == 0 and "up to date with Outback" in done.output


def test_check_names_conflicts_beside_what_is_behind(project):
    edit(project / "README.md", "PyTorch on", "<<<<<<< yours\nPyTorch on")
    done = outback("update", "--check", str(project))
    assert done.exit_code == 1
    assert "  src/kernels.cpp\n" in done.output and "CONFLICT: README.md\n" in done.output


def test_a_project_of_a_newer_outback_is_left_alone(project):
    edit(project / ".outback/project.json", '"0.0"', '"99.0"')
    refused(project, "was made by Outback 99.0")


def test_of_a_newer_outback_it_says_so_whatever_else_is_new(project):
    edit(project / ".outback/project.json", '"0.0"', '"99.0", "colour": "red"')
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
        ("{", "cannot be read: it is no JSON"),
        ("", "cannot be read: it is no JSON"),
        ("[" * 100_000, "cannot be read: it is no JSON"),
        ("[]", "cannot be read: it is no object"),
        ('"foo"', "cannot be read: it is no object"),
        ('{"nome": "foo"}', 'cannot be read: outback new writes no "nome"'),
        ("{}", 'cannot be read: it has no "author", "language", "license", "name", "outback"'),
        ('{"name": "foo"}', 'cannot be read: it has no "author"'),
        ('{"name": "cuda"}', '"cuda" cannot be a device\'s name'),
        ('{"name": 5}', '"name" has to be text, not 5'),
        ('{"name": null}', '"name" has to be text, not null'),
        ('{"name": "foo", "year": "1999"}', '"year" has to be a number, not "1999"'),
        ('{"name": "foo", "year": true}', '"year" has to be a number, not true'),
        ('{"name": "foo", "outback": "new"}', '"outback" has to be a release as 2.13, not "new"'),
        ('{"name": "foo", "outback": "0.%s"}' % ("1" * 5000), '"outback" has to be a release'),
        ('{"name": "foo", "torch": "٢.13"}', '"torch" has to be a release as 2.13, not "٢.13"'),
        ('{"\\u001b[2J": 1}', 'outback new writes no "\\x1b[2J"'),
        ('{"name": "foo", "torch": ""}', '"torch" has to be a release as 2.13, not ""'),
        ('{"name": "foo", "runtime": "metal"}', 'there is no runtime "metal"'),
    ],
    ids=lambda text: text[:30],
)
def test_answers_that_cannot_be_read_are_refused(project, text, words):
    (project / ".outback/project.json").write_text(text, encoding="utf-8")
    refused(project, words)


@pytest.mark.parametrize("key", ["name", "runtime", "license", "torch", "year"])
def test_an_answer_that_is_missing_is_not_made_up(project, key):
    file = project / ".outback/project.json"
    text = json.loads(file.read_text())
    del text[key]
    file.write_text(json.dumps(text))
    refused(project, f'cannot be read: it has no "{key}"; take it from the project\'s history')


def test_answers_in_another_encoding_are_refused(project):
    (project / ".outback/project.json").write_bytes(b'{"name": "f\xe9"}')
    done = outback("update", str(project))
    assert done.exit_code == 2 and "cannot be read: it is no JSON" in done.output


def test_answers_that_are_a_folder_are_refused_in_one_line(project):
    file = project / ".outback/project.json"
    file.unlink()
    file.mkdir()
    refused(project, f"outback: {file}: Is a directory\n")


def test_a_pipe_in_the_place_of_a_file_is_refused_in_one_line(project):
    file = project / ".outback/template/README.md"
    file.unlink()
    os.mkfifo(file)
    refused(project, f"{file}: no regular file\n")


def test_what_new_did_not_make_is_refused(tmp_path):
    (tmp_path / "mine").write_text("mine")
    refused(tmp_path, "was not made by outback new")


def test_a_folder_where_a_file_was_is_refused(project):
    (project / "README.md").unlink()
    (project / "README.md").mkdir()
    refused(project, "README.md is a folder")


def test_a_file_where_a_folder_is_to_be_is_refused(project, fresh):
    (project / "torch-stubs").write_text("mine")
    refused(project, "torch-stubs")


def test_edits_in_another_encoding_are_kept_byte_by_byte(project):
    file = project / "src/runtime.cpp"
    edit(file, "int32_t device_count() { return 1; }", "int32_t device_count();  // ANDRE")
    file.write_bytes(file.read_bytes().replace(b"ANDRE", b"Andr\xe9"))
    done = outback("update", str(project))
    assert done.exit_code == 0, done.output
    text = file.read_bytes()
    assert b"// Andr\xe9\n" in text and b"Step 7: pinned memory" in text


def test_a_project_goes_to_another_torch(project):
    done = outback("update", str(project))
    assert done.exit_code == 0, done.output
    before = contents(project)
    done = outback("update", str(project), "--torch", "2.14", "--check")
    assert done.exit_code == 1 and "  pyproject.toml\n" in done.output
    assert contents(project) == before
    done = outback("update", str(project), "--torch", "2.14")
    assert done.exit_code == 0 and "merged: pyproject.toml\n" in done.output, done.output
    assert '"torch==2.14.*"' in (project / "pyproject.toml").read_text()
    assert answers.load(project).torch == "2.14"
    assert "up to date" in outback("update", str(project)).output


@pytest.mark.parametrize("torch", ["9.9", "2.10", "2.16"])
def test_a_torch_that_there_is_not_is_refused(project, torch):
    expected = f"no backend can be built against torch '{torch}', expected a release from 2.11 to"
    done = outback("update", str(project), "--torch", torch)
    assert done.exit_code == 2 and f"--torch {torch}: {expected}" in done.output
    answered = project / ".outback/project.json"
    text = re.sub('"torch": "[^"]*"', f'"torch": "{torch}"', answered.read_text())
    answered.write_text(text)
    refused(project, f"{answered}: {expected}")
    done = outback("update", str(project), "--torch", "2.15")
    assert done.exit_code == 0, done.output
    assert answers.load(project).torch == "2.15"


def test_a_newer_torch_than_is_supported_may_be_installed(project, monkeypatch):
    monkeypatch.setattr(answers, "_installed_torch", lambda: "2.16")
    done = outback("update", str(project), "--torch", "2.16")
    assert done.exit_code == 0, done.output
    assert answers.load(project).torch == "2.16"


@pytest.mark.parametrize("torch", ["2", "2.13.0", "2.0013", "two", " 2.13", "2.13\n"])
def test_what_is_no_release_is_refused(project, torch):
    done = outback("update", str(project), "--torch", torch)
    assert done.exit_code == 2 and "no backend can be built against" in done.output
    assert done.output.count("\n") == 1


def test_lines_end_as_the_author_has_them(project, fresh):
    readme, runtime = project / "README.md", project / "src/runtime.cpp"
    edit(readme, "PyTorch on foo devices", "PyTorch on the best devices")
    readme.write_bytes(readme.read_bytes().replace(b"\n", b"\r\n"))
    odd = b"int32_t device_count();\r\n  // \r"  # in a file whose lines end otherwise
    before = b"int32_t device_count() { return 1; }"
    runtime.write_bytes(runtime.read_bytes().replace(before, odd))
    done = outback("update", str(project))
    assert done.exit_code == 0, done.output
    expected = (fresh / "README.md").read_bytes().replace(b"\n", b"\r\n")
    assert readme.read_bytes() == expected.replace(b"on foo devices", b"on the best devices")
    assert odd in runtime.read_bytes() and b"Step 7" in runtime.read_bytes()


def test_a_link_stays_one_and_a_program_can_still_be_run(project, tmp_path):
    readme = project / "README.md"
    readme.rename(tmp_path / "elsewhere.md")
    readme.symlink_to("../elsewhere.md")
    (project / "src/runtime.cpp").chmod(0o755)
    done = outback("update", str(project))
    assert done.exit_code == 0, done.output
    assert readme.is_symlink() and not (tmp_path / "elsewhere.md").is_symlink()
    assert (project / "src/runtime.cpp").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(
    ("failing", "call"), [("make", 2), ("put", 2), ("put", 3), ("put", 4), ("mkdir", 2)]
)
@pytest.mark.parametrize(
    "error",
    [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt(), signal.SIGTERM],
)
def test_an_update_that_fails_has_changed_nothing(project, monkeypatch, failing, call, error):
    """In the middle: where the first files could be written, and the next cannot. Some of them are
    new, and some were there."""
    edit(project / "README.md", "PyTorch on foo devices", "PyTorch on the best devices")
    before = contents(project)
    owner = os if failing == "mkdir" else safe_files.Place
    does = getattr(owner, failing)
    calls = []

    def fails(*arguments, **named):
        if owner is not os or "dir_fd" in named:  # not a temporary folder's
            calls.append(arguments)
            if len(calls) == call:
                stop()
        return does(*arguments, **named)

    def stop():
        if isinstance(error, BaseException):
            raise error
        signal.raise_signal(error)

    monkeypatch.setattr(owner, failing, fails)
    done = outback("update", str(project))
    assert len(calls) >= call
    assert contents(project) == before
    assert {path for path in project.rglob("*") if path.is_dir()} == folders_of(before, project)
    if isinstance(error, OSError):
        assert done.exit_code == 2 and done.output.endswith(": No space left on device\n")
        assert done.output.count("\n") == 1
        assert not re.search(r"\.[0-9a-f]{16}", done.output)
    elif error == signal.SIGTERM:
        assert done.exit_code == 128 + error and signal.getsignal(error) is signal.SIG_DFL
    else:
        assert done.exit_code == 1 and done.output.strip() == "Aborted!"
    monkeypatch.undo()
    done = outback("update", str(project))
    assert done.exit_code == 0, done.output


def folders_of(files: dict[str, str], project: Path) -> set[Path]:
    parents = (parent for file in files for parent in (project / file).parents)
    return {parent for parent in parents if parent.is_relative_to(project)} - {project}


def test_without_what_was_made_it_refuses(project):
    (project / ".outback/template").rename(project / "elsewhere")
    refused(project, "is missing")


def test_without_git_it_refuses(project, tmp_path):
    refused(project, "there is no git on the PATH", PATH=str(tmp_path))


def test_where_git_fails_it_refuses(project, tmp_path):
    """With the status 1 too, which otherwise means one conflict."""
    edit(project / "src/runtime.cpp", "std::size_t{64} << 20", "std::size_t{5} << 20")
    (tmp_path / "git").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "git").chmod(0o755)
    refused(project, "git merge-file failed", PATH=str(tmp_path))


def test_the_answers_stay_and_the_release_moves(project):
    before = json.loads((project / ".outback/project.json").read_text())
    assert outback("update", str(project)).exit_code == 0
    after = json.loads((project / ".outback/project.json").read_text())
    assert (before.pop("outback"), after.pop("outback")) == ("0.0", toolkit.minor_version())
    assert before == after
