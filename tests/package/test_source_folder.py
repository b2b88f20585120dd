"""In a project's own folder, where its sources hide the package that is installed."""

import shutil
import subprocess
import sys

from conftest import SCAFFOLD, clean_environment

SAY = "import torch_acme; print(torch_acme._C.__file__)"


def test_the_compiled_part_is_found_behind_the_sources(tmp_path):
    import torch

    project, site = tmp_path / "project", tmp_path / "site"
    for folder in (project, site):
        shutil.copytree(SCAFFOLD / "torch_acme", folder / "torch_acme")
    minor = ".".join(torch.__version__.split(".")[:2])
    (site / "torch_acme/_build.py").write_text(f'TORCH = "{minor}"\n')
    (site / "torch_acme/_C.py").write_text("")  # in place of the compiled part
    done = subprocess.run(
        [sys.executable, "-c", SAY],
        cwd=project,
        env=clean_environment(PYTHONPATH=str(site), TORCH_DEVICE_BACKEND_AUTOLOAD="0"),
        capture_output=True,
        text=True,
    )
    assert done.stdout == f"{site}/torch_acme/_C.py\n", done.stderr
