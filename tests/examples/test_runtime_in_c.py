"""The runtime in C, as a shared library, becomes a backend."""

import os
import shutil
import sys

from conftest import NUMBERS_OF_A_SUITE, ROOT

sys.path.insert(0, os.fspath(ROOT / "generators/cli"))
from torch_outback import cache, cache_key


def test_runtime_in_c(build_tree, printed, tmp_path, monkeypatch):
    # The torch half of the build tree, where torch_outback.load looks for one.
    half = tmp_path / "cache" / cache_key.of_this_process().name
    half.mkdir(parents=True)
    module = cache.module_in(half)
    shutil.copy(build_tree / "loader" / module.name, module)
    cache.seal(half)
    monkeypatch.setenv("OUTBACK_CACHE_DIR", os.fspath(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", os.fspath(ROOT / "generators/cli"))

    (tmp_path / "build").symlink_to(build_tree / "examples/runtime_in_c")
    printed("runtime_in_c", *NUMBERS_OF_A_SUITE)


def test_it_is_no_longer_than_150_lines():
    assert len((ROOT / "generators/project/src/runtime.c").read_text().splitlines()) <= 150
