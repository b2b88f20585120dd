"""Wheels with one half, as a project's build makes them, of a few bytes each."""

from torch_outback.wheel.archive import Wheel
from torch_outback.wheel.merging import Single

METADATA = """Metadata-Version: 2.4
Name: torch-acme
Version: 0.1.0
Requires-Python: >=3.10
Requires-Dist: torch=={torch}.*
Requires-Dist: numpy
Provides-Extra: all
Requires-Dist: torch; extra == "all"

Requires-Dist: torch==2.13.* is no header here.
"""
WHEEL = """Wheel-Version: 1.0
Generator: made up
Root-Is-Purelib: false
Tag: cp{python}-cp{python}-linux_x86_64
"""


def single(torch: str, python: str = "311", **changed: bytes) -> Single:
    """`changed` has other contents, by the last part of a path without its ending."""
    info, half = "torch_acme-0.1.0.dist-info", f"torch_acme/_half/torch-{torch}"
    module = f"{half}/_C.cpython-{python}-x86_64-linux-gnu.so"
    files = {
        "_torch_acme_autoload.py": b"def load(): pass\n",
        "torch_acme/__init__.py": b"from ._loading import load\n",
        "torch_acme/libtorch_acme_runtime.so": b"\x7fELF the runtime \0GLIBC_2.4\0GLIBC_2.34\0",
        f"{half}/kernels.so": f"kernels for {torch}".encode(),
        module: f"half for {torch} and {python}".encode(),
        f"{info}/METADATA": METADATA.format(torch=torch).encode(),
        f"{info}/WHEEL": WHEEL.format(python=python).encode(),
        f"{info}/entry_points.txt": b"[torch.backends]\ntorch_acme = _torch_acme_autoload:load\n",
        f"{info}/RECORD": b"of its own\n",
    }
    for stem, content in changed.items():
        (path,) = (it for it in files if it.rpartition("/")[2].partition(".")[0] == stem)
        files[path] = content
    name = f"torch_acme-0.1.0-cp{python}-cp{python}-linux_x86_64.whl"
    return Single(name, Wheel(files))
