"""Training over several processes has the losses of one process, in every form that PyTorch has."""

import fcntl
import json
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from statistics import fmean

import pytest
import torch

from .training.form import Form
from .training.processes import FORMS

# What runs in forks of one process that has imported it.
IMPORTS = f"""
import sys, torch
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
import distributed.training.processes
"""


@dataclass(frozen=True)
class Found:
    """What the ranks of one set of processes wrote, and what the processes said."""

    ranks: list[dict]
    code: int | None
    said: str

    def losses(self, kind: str, name: str) -> list[list[float] | None]:
        """Those of each rank that has any of that name."""
        return [rank[kind][name] for rank in self.ranks if name in rank[kind]]


@pytest.fixture
def found(request, run_python, inductor) -> Found:
    """Of all forms of this size that this run of pytest asks for. The first of pytest's processes
    that gets here runs them, and the others read what it wrote."""
    form = request.getfixturevalue("form")
    if why := lacking(form):
        pytest.skip(why)
    asked = [item.callspec.params["form"] for item in request.session.items if is_form(item)]
    size = form.processes
    names = [each.name for each in asked if each.processes == size and not lacking(each)]
    folder = Path(inductor["TORCHINDUCTOR_CACHE_DIR"]).with_name(f"training-{size}")
    folder.mkdir(exist_ok=True)
    said = folder / "said"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not said.exists():
            said.write_text('{"code": null, "said": "the processes did not end"}')
            done = run_python(
                f"""
                from pathlib import Path
                from distributed.training.processes import run
                run({names!r}, Path({str(folder)!r}), {size})
                """,
                check=False,
                imports=IMPORTS,
                OMP_NUM_THREADS="1",
                **inductor,
            )
            said.write_text(json.dumps({"code": done.code, "said": repr(done)}))
    ranks = [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]
    return Found(ranks, **json.loads(said.read_text()))


def lacking(form: Form) -> str:
    """What the form needs and this runtime has not."""
    if form.in_place and not torch.acme.get_device_properties(0).is_host_addressable:
        return "the CPU cannot address this device's memory"
    if form.needs_groups and not torch.ones(1).pin_memory().is_pinned():
        return "this runtime has no group host_memory, or no callbacks"
    return ""


def is_form(item: pytest.Item) -> bool:
    return "form" in getattr(getattr(item, "callspec", None), "params", {})


def marks(form: Form) -> list[pytest.MarkDecorator]:
    run = pytest.mark.any_runtime if form.any_runtime else pytest.mark.turns_on_memory
    return [run, pytest.mark.slow] if form.slow else [run]


@pytest.mark.parametrize(
    "form", [pytest.param(form, id=form.name, marks=marks(form)) for form in FORMS.values()]
)
def test_the_losses_are_those_of_one_process(form, found):
    if found.code != 0:
        pytest.fail(found.said, pytrace=False)
    of_ranks = [losses for losses in found.losses("forms", form.name) if losses]
    if form.reference is None:
        return
    (alone,) = found.losses("references", form.name)
    assert alone[-1] < alone[0] / 2  # it learns, so that wrong gradients show
    mean = [fmean(each for each in step if each is not None) for step in zip_longest(*of_ranks)]
    assert mean == pytest.approx(alone, rel=0, abs=form.tolerance)
