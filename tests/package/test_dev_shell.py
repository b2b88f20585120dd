"""How ./dev starts other programs."""

import os
import sys

from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from dev import shell


def test_pythons_that_are_started_keep_bytecode(tmp_path, monkeypatch):
    """pip compiles none of what it installs, so torch would be compiled at each import."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setattr(shell, "LOG", tmp_path)
    (tmp_path / "imported.py").write_text("")
    command = [sys.executable, "-c", "import imported"]
    shell.run("a log", command, env={"PYTHONPATH": os.fspath(tmp_path)})
    assert list((tmp_path / "__pycache__").glob("imported.*.pyc"))
