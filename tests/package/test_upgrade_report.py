"""`outback upgrade-report`: where releases are read from, what it refuses, how it shows changes."""

import errno
import json
import os
import re
import sys
from pathlib import Path

import pytest
from conftest import ROOT, TORCH
from small_torch import OPINFO, YAML, changes, files, folder, operators, run, wheel

SCHEMA = json.loads(
    (ROOT / "generators/cli/torch_outback/upgrade/schema/upgrade-report-1.json").read_text()
)
_GUARD = """\
namespace c10::impl {{
struct DeviceGuardImplInterface {{
  virtual void synchronizeDevice({}) const = 0;
}};
}}
"""
OLD = files("2.13.0+cpu", GUARD=_GUARD.format("DeviceIndex index"))
NEW = files("2.15.0+cu132", GUARD=_GUARD.format("DeviceIndex index, bool all"))
PROJECT = {
    "src/guard.cpp": """\
struct guard final : c10::impl::DeviceGuardImplInterface {
  void synchronizeDevice(c10::DeviceIndex index) const override {}
};
"""
}
CHANGED = "c10::impl::DeviceGuardImplInterface::synchronizeDevice"
OVERRIDES = "src/guard.cpp:2 overrides it"


@pytest.fixture
def project(tmp_path) -> Path:
    return folder(tmp_path / "project", PROJECT)


# ---- Where a release is


def as_wheel(tmp_path, name, texts):
    return wheel(tmp_path / f"{name}.whl", texts)


def as_site_packages(tmp_path, name, texts):
    return folder(tmp_path / name, texts)


def as_torch_itself(tmp_path, name, texts):
    return folder(tmp_path / name, texts) / "torch"


def as_environment(tmp_path, name, texts):
    folder(tmp_path / name / "lib/python3.11/site-packages", texts)
    return tmp_path / name


def as_python(tmp_path, name, texts):
    python = as_environment(tmp_path, name, texts) / "bin/python3"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    return python


def as_borrowed(tmp_path, name, texts):
    """An environment whose .pth file names the folder with torch."""
    site = tmp_path / name / "lib/python3.11/site-packages"
    folder(site, {"torch.pth": f"{folder(tmp_path / f'{name} elsewhere', texts)}\n"})
    return tmp_path / name


@pytest.mark.parametrize(
    "made",
    [as_wheel, as_site_packages, as_torch_itself, as_environment, as_python, as_borrowed],
)
def test_a_release_is_read_from(made, tmp_path, project):
    old, new = made(tmp_path, "old", OLD), made(tmp_path, "new", NEW)
    done = run(old, new, "--project", project)
    assert done.exit_code == 0
    assert "torch 2.13.0+cpu -> 2.15.0+cu132" in done.output
    assert CHANGED in done.output
    assert OVERRIDES in done.output


def test_a_wheel_and_a_folder_compare(tmp_path, project):
    old = wheel(tmp_path / "old.whl", OLD | {OPINFO: "OpInfo('same')\n"})
    new = folder(tmp_path / "new", OLD | {OPINFO: "OpInfo('same')\n"})
    done = run(old, new, "--project", project)
    assert "0 changes" in done.output


def test_nothing_of_torch_is_run(tmp_path, project):
    mark = tmp_path / "ran"
    texts = OLD | {"torch/__init__.py": f"open({str(mark)!r}, 'w')\n"}
    python = as_python(tmp_path, "old", texts)
    assert run(python, python, "--project", project).exit_code == 0
    assert not mark.exists()


# ---- What is refused


def refused(*arguments: object) -> str:
    done = run(*arguments)
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    return line


def test_a_place_that_does_not_exist(tmp_path):
    why = refused(tmp_path / "none.whl", tmp_path)
    assert why == (
        f"outback: {tmp_path}/none.whl does not exist: expected a wheel of torch, or a folder "
        f"with torch"
    )


def test_a_folder_without_torch(tmp_path, project):
    old = folder(tmp_path / "old", OLD)
    assert f"{project}: there is no torch: expected a wheel" in refused(old, project)


def test_a_file_that_is_no_wheel(tmp_path):
    file = tmp_path / "torch.whl"
    file.write_text("none")
    assert f"{file} is no wheel that can be read: not a whole zip file" in refused(file, file)


def test_a_wheel_that_is_cut_short(tmp_path):
    file = wheel(tmp_path / "torch.whl", OLD)
    os.truncate(file, file.stat().st_size // 2)
    assert f"{file} is no wheel that can be read: not a whole zip file" in refused(file, file)


def test_a_wheel_with_damaged_data(tmp_path, project):
    file = wheel(tmp_path / "torch.whl", OLD)
    data = bytearray(file.read_bytes())
    at = data.index(YAML.encode()) + len(YAML) + 10  # in what is packed of it
    data[at : at + 20] = bytes(20)
    file.write_bytes(data)
    why = refused(file, file, "--project", project)
    assert f"{file}: {YAML} in it cannot be read: " in why


def test_a_wheel_of_something_else(tmp_path):
    file = wheel(tmp_path / "click.whl", {"click/__init__.py": ""})
    assert f"{file} is no torch: it has no torch/version.py" in refused(file, file)


def test_a_torch_without_a_version(tmp_path, project):
    old = folder(tmp_path / "old", OLD | {"torch/version.py": "cuda = None\n"})
    assert "is no torch: its torch/version.py has no __version__" in refused(old, old)


def test_a_torch_without_headers(tmp_path, project):
    texts = {name: text for name, text in OLD.items() if "/include/" not in name}
    old = folder(tmp_path / "old", texts)
    assert "torch 2.13.0+cpu there has no headers in torch/include/" in refused(old, old)


def test_a_torch_without_its_operators(tmp_path, project):
    texts = {name: text for name, text in OLD.items() if name != YAML}
    old = folder(tmp_path / "old", texts)
    assert f"torch 2.13.0+cpu there has no {YAML}" in refused(old, old, "--project", project)


def test_releases_in_the_wrong_order(tmp_path, project):
    old, new = folder(tmp_path / "old", OLD), folder(tmp_path / "new", NEW)
    assert refused(new, old, "--project", project) == (
        "outback: OLD is torch 2.15.0+cu132 and NEW is torch 2.13.0+cpu, which is older: give the "
        "older release first"
    )


def test_builds_of_one_release_compare_in_either_order(tmp_path, project):
    one, other = folder(tmp_path / "one", OLD), folder(tmp_path / "other", files("2.13.0+cu130"))
    assert run(one, other, "--project", project).exit_code == 0
    assert run(other, one, "--project", project).exit_code == 0


def test_a_project_without_sources(tmp_path):
    old = folder(tmp_path / "old", OLD)
    empty = folder(tmp_path / "empty", {"README.md": "", "build/made.cpp": "", ".git/x.py": ""})
    why = refused(old, old, "--project", empty)
    assert f"{empty} has no sources: no file of C++ or Python is in it" in why


def test_a_project_that_is_no_folder(tmp_path):
    old = folder(tmp_path / "old", OLD)
    assert "is no folder: --project names the folder" in refused(old, old, "--project", "/none")


def test_an_output_that_cannot_be_written(tmp_path):
    why = refused("no torch", "either", "--output", tmp_path / "none/report.md")
    assert f"cannot be written: there is no folder {tmp_path}/none" in why


# ---- What is shown


@pytest.fixture
def both(tmp_path) -> list[Path]:
    return [folder(tmp_path / "old", OLD), folder(tmp_path / "new", NEW)]


def test_the_text_counts_and_names_lines(both, project):
    done = run(*both, "--project", project)
    assert "1 change, of which 1 touches the project; " in done.output
    assert "1 changed; 1 touches the project\n" in done.output
    assert re.search(
        rf"  changed +{CHANGED}\n"
        r" +was void synchronizeDevice\(DeviceIndex\) const\n"
        r" +is  void synchronizeDevice\(DeviceIndex, bool\) const\n"
        rf" +-> {OVERRIDES}\n",
        done.output,
    )


def test_long_declarations_are_shown_where_they_differ(tmp_path, project):
    many = ", ".join(f"int64_t[] argument_{it}" for it in range(20))
    old, new = (
        folder(
            tmp_path / name, texts | {YAML: operators(f"- func: long({many}, {last}) -> Tensor")}
        )
        for name, texts, last in (("old", OLD, "int was"), ("new", NEW, "int now"))
    )
    done = run(old, new, "--project", project)
    assert "was long(... int64_t[] argument_19, int was) -> Tensor\n" in done.output
    assert "is  long(... int64_t[] argument_19, int now) -> Tensor\n" in done.output


def test_the_project_is_the_current_folder_without_the_option(both, project, monkeypatch):
    monkeypatch.chdir(project)
    assert OVERRIDES in run(*both).output


def test_what_outback_made_and_nobody_has_edited_is_not_the_projects(both, project):
    """`outback update` brings it up to date."""
    folder(project / ".outback/template", PROJECT)
    assert "1 change, of which none touch the project" in run(*both, "--project", project).output
    (project / "src/guard.cpp").write_text(PROJECT["src/guard.cpp"] + "// mine\n")
    assert OVERRIDES in run(*both, "--project", project).output


def test_most_leaves_out_what_touches_nothing(tmp_path, project):
    added = "".join(f"- func: new_{it}(Tensor self) -> Tensor\n" for it in range(4))
    old, new = (
        folder(tmp_path / "old", OLD),
        folder(tmp_path / "new", NEW | {YAML: operators(added)}),
    )
    done = run(old, new, "--project", project, "--most", 3)
    assert "aten::new_2" in done.output
    assert "aten::new_3" not in done.output
    assert "  1 more that the project does not name; --most shows them\n" in done.output
    assert CHANGED in run(old, new, "--project", project, "--most", 0).output


def test_the_page_is_markdown(both, project):
    done = run(*both, "--project", project, "--format", "markdown")
    assert done.output.startswith("# From torch 2.13.0+cpu to 2.15.0+cu132\n")
    assert (
        f"- changed: `{CHANGED}`\n"
        f"    - `was void synchronizeDevice(DeviceIndex) const`\n"
        f"    - `is  void synchronizeDevice(DeviceIndex, bool) const`\n"
        f"    - `src/guard.cpp:2` overrides it\n"
    ) in done.output


def test_the_document_has_what_its_schema_names(both, project):
    done = run(*both, "--project", project, "--format", "json")
    found = json.loads(done.output)
    assert sorted(found) == sorted(SCHEMA["required"])
    (change,) = found["changes"]
    kinds = SCHEMA["properties"]["changes"]["items"]
    assert sorted(change) == sorted(kinds["required"])
    assert change["kind"] in kinds["properties"]["kind"]["enum"]
    assert list(found["sections"]) == kinds["properties"]["section"]["enum"]
    (touch,) = change["touches"]
    assert sorted(touch) == sorted(kinds["properties"]["touches"]["items"]["required"])
    assert found["old"] == {"version": "2.13.0+cpu", "place": str(both[0])}


def test_the_report_goes_to_a_file(both, project, tmp_path):
    file = tmp_path / "report.md"
    done = run(*both, "--project", project, "--output", file)
    assert (done.exit_code, done.output) == (0, "")
    assert OVERRIDES in file.read_text()
    assert "\x1b" not in file.read_text()


DEEP = "it is nested too deeply"


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("broken.py", b"def def\n", "invalid syntax, line 1"),
        ("null.py", b"x = '\0'\n", "source code string cannot contain null bytes"),
        ("deep.py", b"x = " + b"-" * 100_000 + b"1\n", DEEP),
        ("sum.py", b"x = 1" + b" + 1" * 20_000 + b"\n", DEEP),
        ("elif.py", b"if a: pass\n" + b"elif a: pass\n" * 1_000, DEEP),
        ("latin.py", b"x = '\xe9'\n", "invalid or missing encoding declaration"),
        ("later.py", b"\n\n\nx = '\xe9'\n", "'utf-8' codec can't decode byte 0xe9"),
        ("coding.py", b"# coding: no-such-one\n", "unknown encoding: no-such-one"),
        ("hex.py", b"# coding: hex\n", "'hex' is not a text encoding"),
        ("rot13.py", b"# coding: rot13\n", "'rot13' is not a text encoding"),
        ("undefined.py", b"# coding: undefined\n", "decoding with 'undefined' codec failed"),
        ("large.h", b" " * (5 << 20), "it has more than 4 MB"),
        ("deep.h", b"namespace a {" * 2_000 + b"struct B : C {};" + b"}" * 2_000, DEEP),
    ],
    ids=lambda it: it if isinstance(it, str) and "." in it else "",
)
def test_what_cannot_be_read_is_told_with_the_reason(both, project, name, content, why):
    (project / name).write_bytes(content)
    done = run(*both, "--project", project)
    assert done.exit_code == 0, done.output
    assert f"\nnot read: {name}: {why}" in done.output
    assert OVERRIDES in done.output


def test_a_file_that_may_not_be_read_is_told(both, project, monkeypatch):
    read = Path.read_bytes

    def read_bytes(file):
        if file.name == "secret.py":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(file))
        return read(file)

    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    (project / "secret.py").touch()
    done = run(*both, "--project", project, "--format", "json")
    assert json.loads(done.output)["unread"] == {"secret.py": "Permission denied"}


def test_the_first_of_many_that_cannot_be_read_are_told(both, project):
    folder(project, {f"broken_{it}.py": "def def\n" for it in range(7)})
    text = run(*both, "--project", project).output
    assert "not read: broken_4.py: " in text and "\nnot read: 2 more files\n" in text
    page = run(*both, "--project", project, "--format", "markdown").output
    assert "- not read: broken\\_4.py: invalid syntax" in page


def test_python_in_another_encoding_is_read(tmp_path):
    old, new = files("2.13") | {"torch/x.py": "a = 1\n"}, files("2.15") | {"torch/x.py": ""}
    place = folder(tmp_path / "project", {"acme.py": ""})
    text = "# coding: latin-1\nfrom torch.x import a  # \xe9\n"
    (place / "acme.py").write_bytes(text.encode("latin-1"))
    releases = [folder(tmp_path / name, it) for name, it in (("old", old), ("new", new))]
    done = run(*releases, "--project", place)
    assert "acme.py:2 imports it" in done.output and "not read" not in done.output


def test_what_builds_make_is_no_source(tmp_path):
    texts = {f"{place}/guard.cpp": PROJECT["src/guard.cpp"] for place in ("build", ".venv", "made")}
    texts |= {"made/CMakeCache.txt": "", "main.py": ""}
    (change,) = changes(tmp_path, OLD, NEW, texts).values()
    assert change["touches"] == []


def test_nothing_changed_between_a_torch_and_itself(project):
    """The torch that is installed, whatever its release."""
    done = run(TORCH, TORCH, "--project", project)
    assert done.exit_code == 0
    assert "0 changes, of which none touch the project" in done.output
