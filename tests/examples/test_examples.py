"""Each example that needs no more than what the build tree has."""

import importlib.util
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest
from conftest import NUMBERS_OF_A_SUITE, ROOT, TIMEOUT


def test_every_example_is_in_the_index_and_has_a_readme():
    examples = {folder.name for folder in (ROOT / "examples").iterdir() if folder.is_dir()}
    index = (ROOT / "examples/README.md").read_text()
    assert set(re.findall(r"\]\((\w+)\)", index)) == examples
    assert {file.parent.name for file in (ROOT / "examples").glob("*/README.md")} == examples


def test_train_digits(on, printed):
    on("python")
    on_acme, on_cpu = map(float, re.findall(r"(\d+\.\d+)%", printed("train_digits")))
    assert on_acme == on_cpu and on_acme > 97


def test_compile_kernel(on, printed):
    on("python")
    printed("compile_kernel")


def test_two_devices(on, printed):
    on("python")
    said = printed("two_devices", r"\d+(?=% of)")
    assert "equal losses: True" in said
    assert int(re.search(r"(\d+)% of", said).group(1)) > 95


def test_transformer(on, printed):
    if importlib.util.find_spec("transformers") is None:
        pytest.skip("this Python has no transformers")
    on("python")
    said = printed("transformer", r"(?<=writes ).*")
    in_float32 = said.split("parameters on acme:0")[1]
    curves = re.findall(r"^ *\d+ +(\S+) +(\S+)$", in_float32, re.MULTILINE)
    assert len(curves) == 5 and all(there == here for there, here in curves)
    assert float(curves[-1][0]) < float(curves[0][0]) / 2
    (on_acme,) = re.findall("acme writes (.*)", in_float32)
    (on_cpu,) = re.findall("cpu writes  (.*)", in_float32)
    assert on_acme == on_cpu


def test_distributed(on, printed):
    on("python")
    said = printed("distributed")
    losses = re.findall(r"^ *\d+ +(\S+) +(\S+)$", said, re.MULTILINE)
    assert len(losses) == 5 and all(undisturbed == killed for undisturbed, killed in losses)
    assert float(losses[-1][0]) < float(losses[0][0]) / 2


@pytest.mark.slow
def test_distributed_with_two_processes_on_each_machine(on):
    on("python")
    program = ROOT / "examples/distributed/show.py"
    command = [sys.executable, program, "--processes", "2"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    assert said.returncode == 0, said.stdout + said.stderr
    assert "killed: rank 3, before step 27" in said.stdout
    assert "steps with another loss: 0 of 40" in said.stdout


def test_streams(on, printed, tmp_path):
    on("python")
    for _ in range(5):  # nothing overlaps in a run that other tests leave a single core
        printed("streams", r"\d+%")
        events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
        if overlaps([event for event in events if event["pid"] == "two streams"]):
            break
    lanes = {(event["pid"], event["tid"], event["cat"]) for event in events}
    assert lanes == {
        ("one stream", "current stream", "copy"),
        ("one stream", "current stream", "compute"),
        ("two streams", "copy stream", "copy"),
        ("two streams", "current stream", "compute"),
    }
    assert not overlaps([event for event in events if event["pid"] == "one stream"])
    assert overlaps([event for event in events if event["pid"] == "two streams"])
    assert boxes(tmp_path / "picture.svg") == boxes(ROOT / "examples/streams/streams.svg")


def overlaps(events: list[dict]) -> bool:
    """Whether any two happen at the same time. A clock of nanoseconds is a float here."""
    in_order = sorted((event["ts"], event["ts"] + event["dur"]) for event in events)
    return any(later[0] < earlier[1] - 1e-2 for earlier, later in pairwise(in_order))


def boxes(picture) -> list[str]:
    """The colours of the pieces of work in the picture."""
    rectangles = ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}rect")
    return [rectangle.get("fill") for rectangle in rectangles]


def test_custom_op(on, printed):
    on("python_kernels")
    printed("custom_op")


@pytest.mark.parametrize("example", ["cpp_runtime", "rust_runtime"])
def test_the_suite_on_a_runtime(build_tree, printed, tmp_path, example):
    folder = build_tree / "examples" / example
    if not (folder / f"{example}_suite").exists():
        pytest.skip(f"{folder} has no suite: without cargo there is none in Rust")
    (tmp_path / "build").symlink_to(folder)
    printed(example, *NUMBERS_OF_A_SUITE)


def test_libtorch_only(build_tree, printed, tmp_path):
    (tmp_path / "build").symlink_to(build_tree / "examples/libtorch_only")
    printed("libtorch_only")
