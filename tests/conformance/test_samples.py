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
    program = entry["reproduction"]
    with pytest.raises(AssertionError) as shown:
        exec(compile(program, "pasted", "exec"), {})
    assert shown.traceback[-1].path != Path(__file__)


def test_the_program_of_a_crash_crashes(found):
    program = found["operators/aborts/float32/forward"]["reproduction"]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == -6, done.stderr


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
