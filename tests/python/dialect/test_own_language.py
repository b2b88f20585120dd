"""The dialect in a vendor's own language, by a header of words: tests/backends/made_up."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BUILD

pytestmark = pytest.mark.any_runtime

HERE = Path(__file__).resolve().parent
BACKEND = BUILD / "python_made_up"
EXAMPLE = HERE.parents[2] / "examples/compile_kernel/show.py"
WORDS = HERE.parents[1] / "backends/made_up/words.h"


def test_a_header_of_words_is_short():
    assert len(WORDS.read_text().splitlines()) <= 80


def test_all_kernels_run_in_a_language_of_ones_own():
    assert BACKEND.is_dir()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-x"]
    done = subprocess.run(
        [*command, HERE / "test_library.py"],
        env=os.environ | {"PYTHONPATH": os.fspath(BACKEND)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


_PROGRAM = """
import torch
from dialect.conftest import MADE_UP, compile_made_up

source = '''
#include "outback/dialect.h"
KERNEL(wide, GLOBAL f32* out) { ITEMS { const f64 x = LID; out[LID] = x; } }
'''
try:
    torch.acme.compile_kernel(source, "wide", language="dialect")
except RuntimeError as error:
    print("without a compiler:", error)
words = (MADE_UP / "words.h").read_text()
torch.acme.register_kernel_compiler(1001, compile_made_up, words=words, version="1")
try:
    torch.acme.compile_kernel(source, "wide", language="dialect")
except RuntimeError as error:
    print("without float64:", error)
try:
    torch.acme.compile_kernel(source, "wide", language="dialect", items=128)
except ValueError as error:
    print("too large:", error)
"""


def run(program: str, cache: Path) -> str:
    """What a program prints on the device with a language of its own."""
    path = f"{BACKEND}{os.pathsep}{HERE.parent}"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": path, "OUTBACK_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_example_runs_in_a_language_of_ones_own(tmp_path):
    said = run(
        f"""
import runpy, torch
from dialect.conftest import MADE_UP, compile_made_up
words = (MADE_UP / "words.h").read_text()
torch.acme.register_kernel_compiler(1001, compile_made_up, words=words, version="1")
runpy.run_path({os.fspath(EXAMPLE)!r})
""",
        tmp_path,
    )
    assert "<kernel scaled_silu_backward on acme:0> does too" in said


def test_words_see_what_the_device_has(tmp_path):
    said = run(
        """
import torch, torch_acme
def compile(text, target):
    raise RuntimeError(" ".join(text.partition("END")[0].split()))
source = '#include "outback/dialect.h"'
torch.acme.register_kernel_compiler(1001, compile, words="WORDS END", version="1")
try:
    torch.acme.compile_kernel(source, "k", language="dialect")
except RuntimeError as error:
    print(error)
""",
        tmp_path,
    )
    assert "#define LSIZE 64" in said and said.endswith(" WORDS\n")


def test_what_the_device_lacks_is_said(tmp_path):
    said = run(_PROGRAM, tmp_path)
    assert "without a compiler: compile_kernel: the dialect cannot be compiled" in said
    assert "nothing compiles the dialect to [1001]; register_kernel_compiler(1001, ...)" in said
    assert "without float64:" in said and "this_device_has_no_float64" in said
    assert (
        "too large: compile_kernel: items is 128, and a group of this device has at most 64" in said
    )
