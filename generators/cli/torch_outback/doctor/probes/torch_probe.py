"""Imports torch without any backend, tells what it is, then loads what `import torch` would load,
and makes a first contact with that: a process less, where there is one backend.

Argument: what `import torch` would load, in words; "" where it loads no backend by itself.
"""

import contextlib
import io
import sys
import time
import warnings

import first_contact
from outback_probe import at, described, tell


def main(loads: str) -> None:
    at("import torch")
    begun = time.monotonic()
    try:
        import torch
    except BaseException as error:
        tell("import_error", described(error))
        return
    tell("import_seconds", round(time.monotonic() - begun, 3))
    at("reading torch.version")
    tell("file", torch.__file__)
    if not hasattr(torch, "__version__"):  # a folder of that name, without any file
        return
    tell("version", str(torch.__version__))
    tell("git", str(getattr(torch.version, "git_version", "") or ""))
    for name in ("cuda", "hip", "xpu"):
        tell(name, getattr(torch.version, name, None))
    tell("debug", bool(torch.version.debug))
    tell("cxx11_abi", bool(torch._C._GLIBCXX_USE_CXX11_ABI))
    _tell_devices(torch)
    if loads and hasattr(torch, "_import_device_backends"):
        _tell_loaded(torch, loads)
        first_contact.make(torch)


def _tell_devices(torch) -> None:
    if torch.version.cuda or torch.version.hip:
        at("torch.cuda.device_count()")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tell("cuda_devices", torch.cuda.device_count())
            at("torch.cuda.is_available()")
            tell("cuda_available", torch.cuda.is_available())
        tell("cuda_warnings", [str(each.message) for each in caught])
    if getattr(torch.version, "xpu", None):
        at("torch.xpu.device_count()")
        tell("xpu_devices", torch.xpu.device_count())


def _tell_loaded(torch, loads: str) -> None:
    at(f"loading {loads}")
    said = io.StringIO()
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stderr(said):
        warnings.simplefilter("always")
        try:
            torch._import_device_backends()
        except BaseException as error:
            tell("load_error", described(error) | {"outer": str(error)})
    tell("warnings", [str(each.message) for each in caught])
    tell("loading_said", said.getvalue())
    tell("loaded", torch._C._get_privateuse1_backend_name())


main(sys.argv[4])
