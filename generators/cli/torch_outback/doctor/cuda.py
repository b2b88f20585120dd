"""CUDA: the Toolkit's headers, libcudart, NVIDIA's driver, NVML and the devices."""

from __future__ import annotations

import os
import re
import shutil
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from .. import variables
from .child import Report
from .finding import NOTE, OK, PROBLEM, Finding, one_line
from .installed import Installed

_SECTION = "cuda"
_OLDEST_HEADERS = 12080
_CONTROL = Path("/dev/nvidiactl")
_VISIBLE = "CUDA_VISIBLE_DEVICES"
# CUDA's errors where it starts, and their usual causes; docs/cuda.md has the same table.
_CAUSES = {
    3: "the driver does not start: see `dmesg | grep -i nvrm`",
    34: "libcuda.so.1 is the Toolkit's stub, which is only for linking: take its folder out of "
    "LD_LIBRARY_PATH",
    35: "the driver is older than this libcudart: update the driver, or take an older CUDA",
    46: "another process has the device for itself: see `nvidia-smi -q -d COMPUTE`",
    100: "there is no device: the container has none, or CUDA_VISIBLE_DEVICES hides all",
    101: "a device, or a MIG instance, is gone: see `nvidia-smi -L`",
    802: "the fabric manager does not run: `systemctl start nvidia-fabricmanager`",
    803: "the kernel's driver and libcuda.so.1 are of different versions, as after an update: "
    "restart the machine, or reload the module nvidia",
    804: "libcuda.so.1 is of the package for forward compatibility, and the device is not a data "
    "center's: remove the package cuda-compat",
    999: "the module nvidia_uvm is not loaded, or broken since the machine slept: `modprobe -r "
    "nvidia_uvm && modprobe nvidia_uvm`",
}


def nvml() -> str:
    return variables.text("OUTBACK_NVML") or "libnvidia-ml.so.1"


def cudarts(installed: Installed) -> list[str]:
    """Where Outback's runtime for CUDA looks, in its order."""
    if named := variables.text("OUTBACK_CUDART"):
        return [named]
    folders = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    folders += [str(installed.torch_folder.parent)] if installed.torch_folder else []
    of_wheels = [
        f"{folder}/nvidia/{file}"
        for folder in dict.fromkeys(folders)
        for file in ("cu13/lib/libcudart.so.13", "cuda_runtime/lib/libcudart.so.12")
    ]
    names = ["libcudart.so.13", "libcudart.so.12"]
    toolkit = [f"/usr/local/cuda/lib64/{name}" for name in names]
    return [*(file for file in of_wheels if os.path.exists(file)), *names, *toolkit]


def findings(report: Report, torch: Report | None) -> Iterator[Finding]:
    told = report.told
    if report.death:
        yield Finding(
            _SECTION,
            "libraries",
            report.how_it_ended(),
            PROBLEM,
            "the driver's libraries do not answer as they should: install the driver again",
        )
    built = (torch.told.get("cuda") if torch else None) or ""
    driver = told.get("driver")
    yield _headers()
    yield _cudart(told)
    yield _driver(told, built)
    if fit := _too_old(told, built):
        yield fit
    if "nvml" in told or driver:
        yield _nvml(told)
    if driver and not driver["error"]:
        yield _devices(driver, told.get("nvml"))
    if torch and built:
        yield from _of_torch(torch, driver)


def _headers() -> Finding:
    compiler = shutil.which("nvcc")
    for folder in _header_folders():
        try:
            text = (folder / "cuda_runtime_api.h").read_text(errors="replace")
        except OSError:
            continue
        found = re.search(r"#define CUDART_VERSION\s+(\d+)", text)
        version = int(found.group(1)) if found else 0
        named = f"headers of {_version(version)}, {folder}; " + (
            f"nvcc, {compiler}" if compiler else "no nvcc, which only kernels need"
        )
        if version < _OLDEST_HEADERS:
            advice = "to build Outback's runtime for CUDA, install 12.8 or newer"
            return Finding(_SECTION, "toolkit", named, NOTE, advice, _HEADERS_COMMAND)
        return Finding(_SECTION, "toolkit", named)
    return Finding(
        _SECTION,
        "toolkit",
        "no headers, which only builds of Outback's runtime for CUDA need",
        OK,
        "for those, install the Toolkit or the headers alone",
        _HEADERS_COMMAND,
    )


_HEADERS_COMMAND = "pip install nvidia-cuda-runtime nvidia-cuda-crt"


def _header_folders() -> Iterator[Path]:
    """In the order of cmake/OutbackCuda.cmake."""
    for name in ("CUDAToolkit_ROOT", "CUDA_HOME", "CUDA_PATH"):
        if place := variables.text(name):
            yield Path(place, "include")
    yield Path("/usr/local/cuda/include")
    site = Path(sysconfig.get_path("purelib"), "nvidia")
    yield from (site / "cu13/include", site / "cuda_runtime/include", Path("/usr/include"))


def _cudart(told: dict) -> Finding:
    if found := told.get("cudart"):
        return Finding(_SECTION, "libcudart", f"{_version(found['version'])}, {found['file']}")
    named = variables.text("OUTBACK_CUDART")
    problems = told.get("cudart_problems", [])
    # What is not there is no fault; a file that is, and cannot be opened, is.
    faults = [it for it in problems if named or "No such file" not in it]
    if faults:
        return Finding(
            _SECTION,
            "libcudart",
            one_line("; ".join(faults)),
            PROBLEM,
            "set OUTBACK_CUDART to a libcudart.so.12 or .13, or unset it" if named else
            "install it again",
            "unset OUTBACK_CUDART" if named else "",
        )  # fmt: skip
    return Finding(
        _SECTION,
        "libcudart",
        "none, which only devices of CUDA need",
        OK,
        "for those, install a torch with CUDA, the Toolkit, or this",
        "pip install nvidia-cuda-runtime",
    )


def _driver(told: dict, torch_cuda: str) -> Finding:
    driver = told.get("driver")
    if driver is None:
        why = told.get("driver_missing", "")
        if "No such file" not in why and why:
            return Finding(
                _SECTION, "driver", one_line(why), PROBLEM, "install NVIDIA's driver again"
            )
        if _CONTROL.exists():
            return Finding(
                _SECTION,
                "driver",
                f"{_CONTROL} is there, and no libcuda.so.1",
                PROBLEM,
                "in a container, start it with the driver's libraries; else install the driver's "
                "package of libraries (Debian: libcuda1)",
                "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility ...",
            )
        return Finding(
            _SECTION,
            "driver",
            "none" + (f", so this torch for CUDA {torch_cuda} uses the CPU" if torch_cuda else ""),
        )
    named = f"for CUDA {_version(driver['cuda'])}, {driver['file']}"
    if version := (told.get("nvml") or {}).get("driver"):
        named = f"{version}, {named}"
    error = driver["error"]
    if not error:
        return Finding(_SECTION, "driver", named)
    text = f"{named}: cuInit answers {error} {driver['text']}".rstrip()
    if error == 100 and variables.text(_VISIBLE):
        advice = f"{_VISIBLE} is set: name devices that `nvidia-smi -L` lists, or unset it"
        return Finding(_SECTION, "driver", text, NOTE, advice, f"unset {_VISIBLE}")
    if error == 100 and not _CONTROL.exists():
        return Finding(_SECTION, "driver", f"{text}: this machine has no device of NVIDIA's")
    if blocked := [str(it) for it in _device_files() if not os.access(it, os.R_OK | os.W_OK)]:
        advice = f"this user may not open {', '.join(blocked)}: ask for the rights"
        return Finding(_SECTION, "driver", text, PROBLEM, advice)
    return Finding(_SECTION, "driver", text, PROBLEM, _CAUSES.get(error, "see `nvidia-smi`"))


def _device_files() -> list[Path]:
    return sorted(Path("/dev").glob("nvidia*[0-9l]"))


def _too_old(told: dict, torch_cuda: str) -> Finding | None:
    """CUDA's libraries run on drivers of their own major release, and on newer ones."""
    driver = (told.get("driver") or {}).get("cuda", 0)
    if not driver:
        return None
    wanted = []
    if (cudart := (told.get("cudart") or {}).get("version", 0)) // 1000 > driver // 1000:
        wanted.append(f"libcudart is of {_version(cudart)}")
    if torch_cuda and int(torch_cuda.partition(".")[0]) > driver // 1000:
        wanted.append(f"torch is built for {torch_cuda}")
    if not wanted:
        return None
    major = driver // 1000
    return Finding(
        _SECTION,
        "versions",
        f"the driver is for CUDA {_version(driver)}, and {' and '.join(wanted)}",
        PROBLEM,
        f"update the driver, or take a torch and a libcudart for CUDA {major}",
        f"pip install torch --index-url https://download.pytorch.org/whl/cu{major}<minor>",
    )


def _nvml(told: dict) -> Finding:
    if found := told.get("nvml"):
        return Finding(_SECTION, "nvml", f"{len(found['devices'])} devices, {found['file']}")
    if error := told.get("nvml_error"):
        return Finding(
            _SECTION,
            "nvml",
            one_line(f"nvmlInit_v2 answers {error['code']}: {error['text']}"),
            PROBLEM,
            "the library and the kernel's module are of different versions as a rule: restart the "
            "machine",
        )
    return Finding(
        _SECTION,
        "nvml",
        f"{nvml()} cannot be opened: devices are counted by CUDA, and there is no telemetry",
        NOTE,
        "install the driver's tools (Debian: libnvidia-ml1); in a container, add `utility` to "
        "NVIDIA_DRIVER_CAPABILITIES",
    )


def _devices(driver: dict, of_nvml: dict | None) -> Finding:
    found = f"{len(driver['devices'])} visible: {', '.join(driver['devices'])}"
    hidden = len(of_nvml["devices"]) - len(driver["devices"]) if of_nvml else 0
    if hidden > 0 and not variables.text(_VISIBLE):
        advice = f"NVML counts {hidden} more: see `nvidia-smi` for what is wrong with them"
        return Finding(_SECTION, "devices", found, NOTE, advice)
    return Finding(_SECTION, "devices", found)


def _of_torch(torch: Report, driver: dict | None) -> Iterator[Finding]:
    """What torch.cuda makes of it."""
    if "cuda_available" not in torch.told:
        return
    count, available = torch.told["cuda_devices"], torch.told["cuda_available"]
    said = one_line(" ".join(torch.told.get("cuda_warnings", [])))
    if (count and not available) or (said and driver is not None):
        yield Finding(
            _SECTION,
            "torch.cuda",
            f"{count} devices, is_available() is {available}: {said}",
            PROBLEM if count or (driver and driver["devices"]) else NOTE,
            "see the lines above: torch finds the same driver",
        )
    else:
        yield Finding(_SECTION, "torch.cuda", f"{count} devices")


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}" if number else "an unknown version"
