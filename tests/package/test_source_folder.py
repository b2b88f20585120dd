"""In a project's own folder, where its sources hide the package that is installed."""

import shutil
import subprocess
import sys

from conftest import SCAFFOLD, clean_environment

SAY = "import torch_acme; print(torch_acme._loading.__file__)"


def test_the_compiled_parts_are_found_behind_the_sources(build_tree, tmp_path):
    project = tmp_path / "project"
    shutil.copytree(SCAFFOLD / "torch_acme", project / "torch_acme")
    done = subprocess.run(
        [sys.executable, "-c", SAY],
        cwd=project,
        env=clean_environment(
            PYTHONPATH=str(build_tree / "python"), TORCH_DEVICE_BACKEND_AUTOLOAD="0"
        ),
        capture_output=True,
        text=True,
    )
    assert done.stdout == f"{build_tree}/python/torch_acme/_loading.py\n", done.stderr
