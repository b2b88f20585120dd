"""./dev gpu --pack: what a bare machine lacks, in a folder that git ignores, not too large."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from dev import console
from dev.environment import Environment
from dev.gpu import packing
from dev.gpu.packed import LIBRARIES, Pack
from dev.gpu.places import Places

HERE = Environment(Path(sys.executable), "2.13.0", ROOT / "build")


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A system with one package and one wheel of CUDA, by their files."""
    usr = tmp_path / "system"
    (usr / "lib").mkdir(parents=True)
    (usr / "lib/libfmt.so.9.1.0").write_text("a library")
    (usr / "lib/libfmt.so.9").symlink_to("libfmt.so.9.1.0")
    (usr / "lib/libfmt.so").symlink_to("libfmt.so.9")
    wheels = tmp_path / "wheels"
    (wheels / "nvidia/cu13/include/crt").mkdir(parents=True)
    (wheels / "nvidia/cu13/lib").mkdir()
    (wheels / "nvidia/cu13/lib/libcudart.so.13").write_text("cudart")
    digits = wheels / "sklearn/datasets/data/digits.csv.gz"
    digits.parent.mkdir(parents=True)
    digits.write_bytes(b"digits")
    monkeypatch.setattr(Places, "of", lambda _: Places(wheels, wheels / "torch"))
    monkeypatch.setattr(packing, "_libraries", lambda pack: None)
    return usr


@pytest.fixture
def pack(tmp_path, monkeypatch):
    monkeypatch.setattr(packing, "_DISTRIBUTIONS", ("pytest-xdist",))
    monkeypatch.setattr(packing, "ROOT", tmp_path)
    monkeypatch.setattr(packing, "_size_of_tree", lambda: 1 << 20)
    return Pack(tmp_path / ".pack")


def test_git_ignores_it():
    for name in (".pack", ".pack.new"):
        command = ["git", "check-ignore", "-q", f"{name}/usr/include/fmt/core.h"]
        assert subprocess.run(command, cwd=ROOT).returncode == 0


def test_a_library_is_copied_under_each_of_its_names(installed, tmp_path):
    packing._copy_with_links(installed / "lib/libfmt.so", tmp_path / "to")
    folder = tmp_path / "to" / (installed / "lib").relative_to("/")
    assert sorted(file.name for file in folder.iterdir()) == [
        "libfmt.so",
        "libfmt.so.9",
        "libfmt.so.9.1.0",
    ]
    for file in folder.iterdir():
        assert not file.is_symlink() and file.read_text() == "a library"


def test_it_is_usable_as_it_is_taken_along(installed, pack):
    assert packing.pack(HERE, pack) == 0
    assert (pack.cuda / "lib/libcudart.so.13").read_text() == "cudart"
    assert pack.digits.read_bytes() == b"digits"
    code = "import execnet, xdist.plugin; print(execnet.__file__, xdist.__file__)"
    folders = [str(folder) for folder in pack.lacking(lambda _: False).values()]
    found = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {folders}; {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.count(str(pack.folder)) == 2


def test_what_torch_and_pytest_bring_stays_behind(installed, pack):
    packing.pack(HERE, pack)
    assert set(pack.distributions()) == {"execnet", "pytest-xdist"}
    assert pack.distributions()["pytest-xdist"]["module"] == "xdist"


def test_too_much_is_refused_and_the_earlier_pack_stays(installed, pack, capsys):
    packing.pack(HERE, pack)
    pack.digits.write_text("earlier")
    with pytest.raises(console.Failure, match="more than the 1 MiB"):
        packing.pack(HERE, pack, limit=1 << 20)
    assert "the tree itself               1.0 MiB" in capsys.readouterr().out
    assert pack.digits.read_text() == "earlier"
    assert [file.name for file in pack.folder.parent.glob(".pack*")] == [".pack"]


def test_what_is_packed_again_leaves_nothing_of_before(installed, pack):
    packing.pack(HERE, pack)
    (pack.folder / "old").touch()
    packing.pack(HERE, pack)
    assert not (pack.folder / "old").exists()


def test_a_library_that_is_not_installed_is_named(monkeypatch, pack):
    monkeypatch.setitem(LIBRARIES, "fmt", ("fmt/core.h", ("no-such-package-dev",)))
    with pytest.raises(console.Failure, match="no-such-package-dev is not installed"):
        packing.pack(HERE, pack)


def test_what_python_was_compiled_for_is_kept(pack):
    pack.folder.mkdir()
    about = {
        "rich": {"version": "1", "module": "rich", "for": "any"},
        "ours": {"version": "1", "module": "ours", "for": sys.implementation.cache_tag},
        "other": {"version": "1", "module": "other", "for": "cpython-39"},
    }
    pack.contents.write_text(json.dumps({"python": about}))
    assert set(pack.lacking(lambda _: False)) == {"rich", "ours"}
    assert set(pack.lacking(lambda module: module == "rich")) == {"ours"}
