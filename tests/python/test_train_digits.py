"""The demo trains, and would say so if it did not."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.any_runtime

DEMO = Path(__file__).parents[2] / "examples" / "train_digits" / "train.py"


@pytest.fixture
def train(run_python):
    """Runs the demo. What it imports takes longer than its work here, and is imported once."""

    def run(*arguments: str):
        return run_python(
            f"""
            import runpy, sys
            sys.path.insert(0, {str(DEMO.parent)!r})
            sys.argv = {[str(DEMO), *arguments]!r}
            runpy.run_path(sys.argv[0], run_name="__main__")
            """,
            check=False,
            imports="import rich.progress, rich.table, sklearn.datasets, torch._dynamo",
        )

    return run


def test_it_reaches_its_accuracy_with_the_cpus_loss_curve(train):
    done = train("--epochs", "6")  # of 15: it is over the 95 % by then
    assert done.code == 0, done
    assert "accuracy on held-out digits" in done.output


@pytest.mark.slow  # a step in float16 takes a CPU seventy times as long as one in float32
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_it_reaches_it_in_lower_precision_too(train, dtype):
    done = train("--amp", dtype, "--epochs", "6" if dtype == "bfloat16" else "5")
    assert done.code == 0, done
    assert f"autocast to {dtype}" in done.output


def test_it_learns_in_float16(train):
    """Which needs a scaler. One epoch is too little for the demo, and enough to see it."""
    done = train("--amp", "float16", "--epochs", "1")
    assert done.code == 1 and "autocast to float16" in done.output
    found = re.search(r"^accuracy ([\d.]+)% on \S+ is under 95%$", done.output, re.MULTILINE)
    assert found and float(found[1]) > 80, done
    assert "the loss curves differ" not in done.output


def test_it_fails_where_nothing_was_learnt(train):
    done = train("--steps", "1")
    assert done.code == 1
    assert "is under 95%" in done.output


def test_it_fails_where_the_devices_disagree(train):
    done = train("--epochs", "1", "--tolerance=-1")
    assert done.code == 1
    assert "the loss curves differ" in done.output
