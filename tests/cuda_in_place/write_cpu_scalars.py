"""Writes backend_template/ops/in_place/cpu_scalars.txt: where torch.cuda's operators take a CPU
tensor without dimensions, on torch 2.13.0.

    OUTBACK_CUDA_PYTHON=<python with torch's CUDA build> OUTBACK_BUILD_DIR=build/dev \\
        python tests/cuda_in_place/write_cpu_scalars.py

A line for each overload that was asked: the arguments that take one, and, after a minus each, those
that take a tensor without dimensions of the device alone. One that is not named takes none at all.
"""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from families import One, Place

TABLE = Path(__file__).parents[2] / "backend_template/ops/in_place/cpu_scalars.txt"


def table(family: Callable[..., list[One]]) -> str:
    answers: dict[str, set[str]] = {}
    # With little memory, sizes that are read from what no kernel wrote are refused at once.
    for each in family("cpu_scalars", "cuda", FAKE_CUDA_MEMORY="1G"):
        assert not each.outcome, f"{each.name}: {each.outcome}"
        for line in each.answer.splitlines():
            overload, argument, answer = line.split()
            spelled = argument if answer == "yes" else f"-{argument}"
            answers.setdefault(overload, set()).add(spelled)
    return "".join(f"{name}: {' '.join(sorted(answers[name]))}\n" for name in sorted(answers))


if __name__ == "__main__":
    build = Path(os.environ["OUTBACK_BUILD_DIR"]).resolve()
    with tempfile.TemporaryDirectory() as files:
        python = Path(os.environ["OUTBACK_CUDA_PYTHON"])
        TABLE.write_text(table(Place(python, build / "tests/fakes/lib", Path(files)).run))
