"""One wheel of several: its files, what it says of torch and Python, and its bytes."""

import base64
import csv
import hashlib
import io
import itertools
import json
import zipfile

import pytest
from made_up_wheels import single
from packaging.specifiers import SpecifierSet
from packaging.tags import Tag
from packaging.utils import parse_wheel_filename
from torch_outback.refused import Refused
from torch_outback.wheel import archive, manifest, merging, metadata
from torch_outback.wheel.merging import Single

RUNTIME = "torch_acme/libtorch_acme_runtime.so"


def merged(*singles):
    return merging.merge(singles)


def requirements(wheel) -> dict[str, str]:
    found = metadata.requirements(wheel.text("METADATA"))
    return {it.name: str(it.specifier) for it in found}


def test_it_has_the_files_of_all(tmp_path):
    wheel = merged(single("2.11"), single("2.13"))
    assert {path for path in wheel.files if "_half" in path} == {
        "torch_acme/_half/torch-2.11/_C.cpython-311-x86_64-linux-gnu.so",
        "torch_acme/_half/torch-2.11/kernels.so",
        "torch_acme/_half/torch-2.13/_C.cpython-311-x86_64-linux-gnu.so",
        "torch_acme/_half/torch-2.13/kernels.so",
    }
    assert wheel.text("entry_points.txt").startswith("[torch.backends]")


@pytest.mark.parametrize(
    ("torches", "there", "missing"),
    [
        (["2.13"], ["2.13.0", "2.13.1"], ["2.12.1", "2.14.0"]),
        (["2.13", "2.11"], ["2.11.0", "2.13.1"], ["2.10.0", "2.12.1", "2.14.0"]),
        (["2.11", "2.12", "2.13"], ["2.11.0", "2.12.1", "2.13.0+cu132"], ["2.14.0"]),
        (["2.11", "2.15"], ["2.15.2"], ["2.12.0", "2.13.0", "2.14.1", "2.16.0"]),
    ],
)
def test_it_requires_the_torches_that_are_in_it(torches, there, missing):
    wheel = merged(*map(single, torches))
    text = requirements(wheel)["torch"]
    assert [it for it in there + missing if it in SpecifierSet(text)] == there, text
    assert requirements(wheel)["numpy"] == ""


def test_a_requirement_of_an_extra_and_the_description_stay():
    text = merged(single("2.11"), single("2.13")).text("METADATA")
    assert 'Requires-Dist: torch; extra == "all"\n' in text
    assert text.endswith("Requires-Dist: torch==2.13.* is no header here.\n")


def test_a_wheel_of_several_pythons_fits_each_of_them():
    pythons = ("39", "310", "311")
    wheel = merged(*(single("2.13", python) for python in pythons))
    name = merging.file_name(wheel)
    assert name == "torch_acme-0.1.0-cp39.cp310.cp311-cp39.cp310.cp311-linux_x86_64.whl"
    tags = parse_wheel_filename(name)[3]
    assert {Tag(f"cp{it}", f"cp{it}", "linux_x86_64") for it in pythons} <= tags
    listed = {Tag(*it) for it in metadata.tags(wheel.text("WHEEL"))}
    assert listed == tags and len(listed) == 9


def test_its_name_has_the_tag_of_the_build():
    one = single("2.13")
    wheel = merged(single("2.13", WHEEL=b"Build: 7\n" + one.wheel.text("WHEEL").encode()))
    assert merging.file_name(wheel) == "torch_acme-0.1.0-7-cp311-cp311-linux_x86_64.whl"


def test_the_kernels_of_one_torch_are_those_of_all_pythons():
    wheel = merged(single("2.13", "310"), single("2.13", "311", kernels=b"compiled again"))
    assert wheel.files["torch_acme/_half/torch-2.13/kernels.so"] == b"kernels for 2.13"


def test_the_runtime_is_the_first_ones():
    wheel = merged(single("2.11", libtorch_acme_runtime=b"first"), single("2.13"))
    assert wheel.files[RUNTIME] == b"first"


@pytest.mark.parametrize(
    ("singles", "why"),
    [
        (
            [single("2.11"), single("2.13", __init__=b"other")],
            "torch_acme/__init__.py differs in torch_acme-0.1.0-cp311-cp311-linux_x86_64.whl",
        ),
        ([single("2.13"), single("2.13", _C=b"other")], "are for the same torch and Python"),
        (
            [single("2.13"), single("2.11", METADATA=b"Requires-Dist: torch\nName: other\n\n")],
            "differs in more than the release of torch",
        ),
        ([single("2.13", METADATA=b"Name: torch-acme\n\n")], "does not require torch"),
        (
            [single("2.13"), single("2.11", WHEEL=b"Tag: cp311-cp311-linux_aarch64\n")],
            "for different platforms: linux_aarch64, linux_x86_64",
        ),
    ],
    ids=["a source", "a half", "metadata", "no torch", "platforms"],
)
def test_what_does_not_fit_together_is_refused(singles, why):
    with pytest.raises(Refused, match=why):
        merged(*singles)


def test_the_record_is_that_of_what_is_in_it(tmp_path):
    path = tmp_path / "torch_acme-0.1.0-cp311-cp311-linux_x86_64.whl"
    archive.write(merged(single("2.11"), single("2.13")), path)
    with zipfile.ZipFile(path) as written:
        assert written.testzip() is None
        files = {name: written.read(name) for name in written.namelist()}
    record = "torch_acme-0.1.0.dist-info/RECORD"
    rows = {name: rest for name, *rest in csv.reader(io.StringIO(files[record].decode()))}
    assert rows.keys() == files.keys() and rows[record] == ["", ""]
    for name, content in files.items():
        if name != record:
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode()
            assert rows[name] == [f"sha256={digest.rstrip('=')}", str(len(content))]
    assert archive.read(path).files[RUNTIME] == files[RUNTIME]


def test_the_same_wheels_make_the_same_bytes(tmp_path):
    singles = [single("2.11"), single("2.12"), single("2.13")]
    made = set()
    for number, order in enumerate(itertools.permutations(singles)):
        path = tmp_path / f"torch_acme-{number}-cp311-cp311-linux_x86_64.whl"
        wheel = manifest.with_manifest(merged(*order), "0", dict.fromkeys(TORCHES, "2.13.0"))
        archive.write(wheel, path)
        made.add(path.read_bytes())
    assert len(made) == 1


TORCHES = ("2.11", "2.12", "2.13")


def test_the_manifest_says_what_is_in_it():
    torches = {"2.11": "2.11.0+cu130", "2.13": "2.13.0+cpu"}
    wheel = manifest.with_manifest(merged(single("2.11"), single("2.13")), "abcd", torches)
    document = json.loads(wheel.files["torch_acme/_half/manifest.json"])
    assert document == manifest.read(wheel, "a wheel")
    assert document["sources"] == {"sha256": "abcd"} and document["abi"] == manifest.abi()
    runtime = document["files"]["libtorch_acme_runtime.so"]
    assert runtime == {
        "sha256": hashlib.sha256(wheel.files[RUNTIME]).hexdigest(),
        "glibc": "2.34",
    }
    kernels = document["files"]["_half/torch-2.13/kernels.so"]
    assert kernels["torch"] == "2.13.0+cpu" and "glibc" not in kernels
    assert manifest.compiled_against(document) == torches


def test_a_file_that_is_no_wheel_is_refused(tmp_path):
    for name, content in (
        ("torch_acme-0.1.0-cp311-cp311-linux_x86_64.whl", b"no zip"),
        ("acme.whl", b""),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(Refused, match=rf"{name} (is no|cannot be read as a) wheel"):
            archive.read(tmp_path / name)


def test_a_wheel_that_writes_elsewhere_is_refused(tmp_path):
    path = tmp_path / "torch_acme-0.1.0-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(path, "w") as written:
        written.writestr("../elsewhere.py", "")
    with pytest.raises(Refused, match="outside of its folder"):
        archive.read(path)


def test_an_address_of_one_torch_is_no_requirement():
    made = metadata.with_torches(
        "Requires-Dist: torch @ https://x/torch-2.13.0.whl\n\n", ["2.11", "2.12"]
    )
    assert made == "Requires-Dist: torch<2.13,>=2.11\n\n"


def test_an_address_of_this_machine_is_no_requirement():
    elsewhere = 'Requires-Dist: x @ git+https://x/x.git ; extra == "test"\n'
    here = 'Requires-Dist: torch-outback @ file:///home/ada/outback ; extra == "test"\n'
    made = metadata.with_torches(f"{elsewhere}{here}\nThe text.\n", ["2.13"])
    without = 'Requires-Dist: torch-outback; extra == "test"\n'
    assert made == f"{elsewhere}{without}\nThe text.\n"


def test_a_library_that_needs_torch_has_no_place_outside_the_halves():
    path = "torch_acme/_ops.so"

    def with_library(torch, content):
        one = single(torch)
        return Single(one.name, archive.Wheel({**one.wheel.files, path: content}))

    needs = [b"\0libc10.so\0" + torch for torch in (b"2.11", b"2.13")]
    with pytest.raises(Refused, match=f"{path} needs torch, and differs in"):
        merged(with_library("2.11", needs[0]), with_library("2.13", needs[1]))
    same = merged(with_library("2.11", needs[0]), with_library("2.13", needs[0]))
    assert same.files[path] == needs[0]


def test_metadata_of_a_package_inside_is_not_the_wheels():
    one = single("2.13").wheel
    inside = {"torch_acme/_vendor/other-1.dist-info/WHEEL": b"", "note.dist-info": b""}
    assert archive.Wheel({**one.files, **inside}).dist_info == "torch_acme-0.1.0.dist-info"


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ([], "cannot be read: it is no object"),
        ({"format": 1}, "cannot be read: its files are no objects"),
        ({"format": 1, "files": []}, "cannot be read: its files are no objects"),
        ({"format": 1, "files": {"x": {"torch": 5}}}, "cannot be read: its files are no objects"),
        ({"format": 1, "files": {}}, "does not say what torch 2.13 was compiled against"),
        ({"format": 2, "files": {}}, "has the format 2, and this Outback reads 1"),
    ],
    ids=str,
)
def test_a_manifest_that_lies_is_refused(document, why):
    path = "torch_acme/_half/manifest.json"
    wheel = archive.Wheel({**single("2.13").wheel.files, path: json.dumps(document).encode()})
    with pytest.raises(Refused, match=why):
        manifest.read(wheel, "x.whl")
