"""What compares families of programs finds what differs, and nothing else."""

import families

# Each is run as it is, and with what stands in its place: what is then told.
CHANGES = {
    "another kernel": ("x * 2", "x + 2", "MulFunctor"),
    "a kernel more": ("x * 2", "(x * 2).relu_()", "pieces of work"),
    "other memory": ("y.mul_(2)", "x.mul_(2)", "memory 1+4096 and memory 1+0"),
    "another shape": ("x * 2", "x[:600] * 2", "requested_bytes"),
    "another stream": (
        "x * 2",
        "exec('with torch.cuda.stream(torch.cuda.Stream()): y * 2')",
        "stream=0",
    ),
    "a copy": ("y.mul_(2)", "y.mul_(2).cpu()", "pieces of work"),
    "memory that is kept": ("x * 2", "[x * 2, torch.empty(9, device='cuda')]", "current"),
    "memory for a moment": ("x * 2", "torch.empty(9, device='cuda') is None or x * 2", "freed"),
    "random numbers": ("torch.rand(9, device='cuda')", "torch.rand(9000, device='cuda')[:9]", ""),
    "another end": ("x * 2", "x @ y[:3]", "it ends with success and RuntimeError"),
    "nothing": ("x * 2", "x * 2", None),
}
FAMILY = """
import torch

BODIES = {bodies!r}

def work(body):
    x = torch.ones(1024).cuda()
    y = torch.ones(1024).cuda()
    return x, y, eval(body, dict(torch=torch, x=x, y=y))

def units(device):
    for name, body in BODIES.items():
        yield name, lambda: work(body)
"""
DEADLY = """
import os, torch

def units(device):
    yield "well", lambda: torch.ones(4, device=device)
    yield "deadly", lambda: os._exit(3)
    yield "well again", lambda: torch.ones(4, device=device) + 1
"""


def test_each_change_of_a_program_is_found(family, tmp_path):
    folder = tmp_path / "families"
    folder.mkdir()
    for which, name in enumerate(("plain", "changed")):
        bodies = {change: texts[which] for change, texts in CHANGES.items()}
        (folder / f"{name}.py").write_text(FAMILY.format(bodies=bodies))
    these, those = family("plain", "cuda", tmp_path), family("changed", "cuda", tmp_path)
    found = families.differences(these, those)
    for change, (_, _, told) in CHANGES.items():
        if told is None:
            assert change not in found
        else:
            assert told in "\n".join(found[change]), change


def test_one_that_ends_its_process_is_told_and_the_others_go_on(family, tmp_path):
    (tmp_path / "families").mkdir()
    (tmp_path / "families/deadly.py").write_text(DEADLY)
    done = family("deadly", "cuda", tmp_path)
    assert [(each.name, each.outcome) for each in done] == [
        ("well", ""),
        ("deadly", "exit code 3"),
        ("well again", ""),
    ]
    assert len(done[2].work) == 2
