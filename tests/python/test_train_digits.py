"""The demo trains, and would say so if it did not."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.any_runtime

DEMO = Path(__file__).parents[2] / "examples" / "train_digits" / "train.py"


def run(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, DEMO, *arguments], capture_output=True, text=True)


def test_it_reaches_its_accuracy_with_the_cpus_loss_curve():
    done = run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "accuracy on held-out digits" in done.stdout


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_it_reaches_it_in_lower_precision_too(dtype):
    done = run("--amp", dtype, "--epochs", "6" if dtype == "bfloat16" else "5")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"autocast to {dtype}" in done.stdout


def test_it_fails_where_nothing_was_learnt():
    done = run("--steps", "1")
    assert done.returncode == 1
    assert "is under 95%" in done.stdout


def test_it_fails_where_the_devices_disagree():
    done = run("--epochs", "1", "--tolerance=-1")
    assert done.returncode == 1
    assert "the loss curves differ" in done.stdout
