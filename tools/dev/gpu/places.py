"""Where this machine has what comes from CUDA: headers, a libcudart, programs."""

import json
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from .. import shell
from ..environment import Environment
from . import device
from .packed import Pack

_OLDEST = 12080  # of CUDA's headers, as docs/cuda.md says
_QUESTION = """
import importlib.util, json, sysconfig
spec = importlib.util.find_spec("torch")
print(json.dumps([sysconfig.get_path("purelib"), spec.origin if spec else ""]))
"""


@dataclass(frozen=True)
class Places:
    wheels: Path  # site-packages
    torch: Path  # the package's folder

    @staticmethod
    def of(environment: Environment) -> "Places":
        wheels, torch = json.loads(shell.output([environment.python, "-c", _QUESTION]))
        return Places(Path(wheels), Path(torch).parent)

    @property
    def torch_has_cuda(self) -> bool:
        """Then it loads a libcudart, which the runtime takes."""
        return (self.torch / "lib/libtorch_cuda.so").exists()

    def headers(self, pack: Pack) -> Path | None:
        """The folder of cuda.h; where OutbackCuda.cmake looks too comes first."""
        for folder in [
            *(toolkit / "include" for toolkit in _toolkits()),
            self.wheels / "nvidia/cu13/include",
            self.wheels / "nvidia/cuda_runtime/include",
            pack.cuda / "include",
        ]:
            if _are_complete(folder):
                return folder
        return None

    def cudart(self, pack: Pack) -> Path | None:
        """A libcudart, where the dynamic loader finds none by itself."""
        return device.cudart_in(
            [
                self.wheels / "nvidia/cu13/lib",
                self.wheels / "nvidia/cuda_runtime/lib",
                *(toolkit / "lib64" for toolkit in _toolkits()),
                pack.cuda / "lib",
            ]
        )

    def sanitizer(self) -> str | None:
        return _program("compute-sanitizer")

    def nvcc(self) -> str | None:
        return _program("nvcc")


def _program(name: str) -> str | None:
    folders = [os.fspath(toolkit / "bin") for toolkit in _toolkits()]
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", os.defpath), *folders]))


def _are_complete(headers: Path) -> bool:
    """torch's own wheels bring a part of them, and a machine may have old ones."""
    if not (headers / "cuda.h").exists() or not (headers / "cuda_runtime_api.h").exists():
        return False
    crt = (headers, headers / "../../cuda_nvcc/include")  # the latter in wheels of CUDA 12
    if not any((folder / "crt/host_defines.h").exists() for folder in crt):
        return False
    text = (headers / "cuda.h").read_text(errors="replace")
    version = re.search(r"^#define CUDA_VERSION (\d+)", text, re.MULTILINE)
    return version is not None and int(version.group(1)) >= _OLDEST


def _toolkits() -> list[Path]:
    variables = ("CUDAToolkit_ROOT", "CUDA_HOME", "CUDA_PATH")
    named = [os.environ[name] for name in variables if os.environ.get(name)]
    return [Path(name) for name in (*named, "/usr/local/cuda", "/usr")]
