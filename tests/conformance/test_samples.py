"""PyTorch's samples in `outback conformance`: their verdicts, and programs that show failures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from product import Product

from conformance import document
from conformance.item import Item
from conformance.opinfo import reproduction
from conformance.opinfo.settings import Settings
from conformance.report import html

DEVICE = "--device=cpu"
BROKEN = [
    *("--op-db=broken_ops:op_db", "--module-db=broken_modules:module_db"),
    "--optim-db=broken_optimizers:optim_db",
]
FAILING = {
    "wrong_value": "forward",
    "wrong_device": "forward",
    "wrong_shape": "forward",
    "changes_its_argument": "forward",
    "a_copy_made_a_view": "forward",
    "raises_another_type": "forward",
    "wrong_gradient": "backward",
    "wrong_tangent": "forward_ad",
    "inplace_does_nothing": "inplace",
    "out_is_ignored": "out",
    "out_is_not_returned": "out",
    "out_gets_other_memory": "out",
    "wrong_with_gaps": "noncontiguous",
    "wrong_gradient_with_gaps": "noncontiguous",
    "wrong_with_nothing": "empty",
    "wrong_without_dimensions": "zero_dim",
    "wrong_with_negated": "conj_neg",
}
OTHERS = ("wrong_exception", "no_dtype", "cpu_raises", "a_right_one", "aborts")
# Operators of PyTorch whose samples differ in what they are made of.
RIGHT = ("add", "sum", "cat", "sort", "index_put", "split", "tensor_split", "linalg.solve", "where")


@pytest.fixture(scope="module")
def found(product: Product) -> dict[str, dict]:
    words = " or ".join(f"operators/{name}/" for name in FAILING)
    words += " or " + " or ".join(f"operators/{name}/" for name in OTHERS[:1] + OTHERS[2:])
    words += " or operators/no_dtype or modules/Right/ or optimizers/WrongStep"
    suites = ("--suite=operators", "--suite=modules", "--suite=optimizers")
    made = product.document(DEVICE, *BROKEN, *suites, "--jobs=2", "-k", words)
    assert f" {len(FAILING) + len(OTHERS)} operators of " in made["sampled"]
    assert "the first 3 samples with each of float32, complex64, bfloat16" in made["sampled"]
    return {document.id_of(entry): entry for entry in made["entries"]}


@pytest.mark.parametrize(
    ("id", "verdict", "says"),
    [
        ("operators/wrong_value/float32/forward", "fail", "Mismatched elements: 1 / 4"),
        ("operators/wrong_exception/float32/forward", "unsupported", "NotImplementedError: no ker"),
        ("operators/aborts/float32/forward", "crash", "SIGABRT"),
        ("operators/cpu_raises/float32/forward", "skipped", "the CPU raises RuntimeError"),
        ("operators/no_dtype/forward", "skipped", "PyTorch has no dtype of it on the CPU"),
        ("operators/a_right_one/float32/conj_neg", "pass", None),
        ("modules/Right/float32/created", "pass", None),
        ("optimizers/WrongStep/float32/foreach", "fail", "parameters (momentum) 0: Mismatched"),
    ],
)
def test_a_sample_has_its_verdict(found, id, verdict, says):
    entry = found[id]
    assert entry["verdict"] == verdict
    said = entry.get("message", entry.get("reason"))
    assert (said is None) if says is None else (says in said)


@pytest.mark.parametrize(("name", "phase"), FAILING.items())
def test_the_program_of_a_failure_shows_it(found, name, phase):
    entry = found[f"operators/{name}/float32/{phase}"]
    assert entry["verdict"] == "fail"
    assert entry["reproduction_language"] == "python"
    program = entry["reproduction"]
    with pytest.raises(AssertionError) as shown:
        exec(compile(program, "pasted", "exec"), {})
    assert shown.traceback[-1].path != Path(__file__)


def test_the_program_of_a_crash_crashes(found):
    program = found["operators/aborts/float32/forward"]["reproduction"]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == -6, done.stderr


ROUNDS = "rounds_more_than_the_cpu"


@pytest.fixture(scope="module")
def judged(product: Product, tmp_path_factory: pytest.TempPathFactory) -> dict:
    """Four operators, two of which are loosened: by the option, and by a line."""
    names = (ROUNDS, "/cpu_rounds", "rounds_where_the_cpu_is_exact", "other_strides")
    file = tmp_path_factory.mktemp("judged") / "expectations"
    file.write_text(
        "operators/rounds_where_the_cpu_is_exact: tolerance=0,1e-2 a multiplier of its own\n"
    )
    words = " or ".join(f"{name}/float32/forward" for name in names)
    given = (f"--tolerance={ROUNDS}=0,1e-2", f"--expectations={file}")
    return product.document(DEVICE, *BROKEN, "--suite=operators", "-k", words, *given)


def test_the_head_counts_what_was_judged_by_float64_and_what_was_loosened(judged):
    assert judged["totals"]["pass"] == 4 and not judged["problems"]
    assert judged["judged"] == {"by_float64": 1, "loosened": 2}
    assert "0 skipped; 1 judged by float64; 2 loosened" in judged["headline"]
    tolerances = [f"operators/{ROUNDS}=0,0.01", "operators/rounds_where_the_cpu_is_exact=0,0.01"]
    assert judged["settings"]["tolerances"] == tolerances
    entries = {entry["name"]: entry for entry in judged["entries"]}
    assert entries[ROUNDS]["loosened"] and ROUNDS in entries[ROUNDS]["remark"]
    assert entries["cpu_rounds"]["by_float64"] and "float64" in entries["cpu_rounds"]["remark"]
    assert "remark" not in entries["other_strides"]


def test_the_page_says_so(judged):
    assert "Of what passed, 1 differ from the CPU" in html.page_of(judged)
    others = judged | {"judged": {"by_float64": 0, "loosened": 0}}
    assert "Of what passed" not in html.page_of(others)


@pytest.mark.parametrize("given", ["mul", "mul=1e-3", "mul=1e-3,x", "mul=-1,0", "a/b=0,0"])
def test_a_tolerance_that_is_none_is_refused(product, given):
    said = product(DEVICE, *BROKEN, "--suite=operators", f"--tolerance={given}")
    assert said.status == 2 and said.err.startswith("outback: --tolerance "), said


def test_a_kernel_is_right_that_writes_what_the_cpu_leaves(product):
    """gelu(out=): the CPU's leaves a transposed one as it was."""
    run = ("--device=acme", "--import=small_backends.writes_what_the_cpu_leaves")
    words = "nn.functional.gelu/float32/out"
    (entry,) = product.document(*run, "--suite=operators", "-k", words)["entries"]
    assert entry["verdict"] == "pass", entry
    assert "does not write into out=" in entry["remark"]


@pytest.mark.parametrize("name", RIGHT)
def test_the_program_of_what_is_right_shows_nothing(name, capsys):
    """In every phase: a program that fails by itself would show any operator as wrong."""
    settings = Settings(device="acme", imports=("torch_acme",))
    for phase in settings.op_phases:
        if phase == "inplace" and name not in ("add", "index_put"):
            continue
        if phase == "out" and name in ("split", "index_put", "tensor_split"):
            continue
        item = Item("operators", name, "", phase, "float32")
        message = "aliasing: differs" if phase == "forward" else "differs"
        program = reproduction.program(settings, item, {"message": message, "sample": 1})
        exec(compile(program, f"pasted-{phase}", "exec"), {})
