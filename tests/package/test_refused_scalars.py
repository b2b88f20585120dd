"""The table of what operators refuse of CPU tensors is what torch.cuda answered."""

import re
import sys

from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests/cuda_in_place"))
import write_refused_scalars as generator

LINE = re.compile(r'  \{"(\w+)", "(\w*)", "([\w /]+)"\},')


def test_the_table_is_what_torch_cuda_answered():
    """An operator that this torch has not got says nothing of which arguments it writes."""
    lines = generator.WRITTEN.read_text().splitlines()
    entries = {(m[1], m[2]): m[3].split() for m in map(LINE.fullmatch, lines) if m}
    here = {name: names for name, names in entries.items() if generator.schema_of(*name)}
    assert here == generator.refused()
    assert generator.HEAD.splitlines() == lines[: generator.HEAD.count("\n")]


def test_what_is_taken_after_all_has_been_refused():
    answers = generator.answers()
    for op, overload, argument in generator.TAKEN_AFTER_ALL:
        assert argument in answers[op, overload]
