"""./dev gpu --pack: copies what a bare machine lacks out of the installed packages into .pack."""

import json
import os
import shutil
from pathlib import Path

from .. import console, shell
from ..environment import Environment
from ..paths import ROOT
from .packed import LIBRARIES, Pack
from .places import Places

# What one can count on being allowed to hand to a machine that is lent: with the tree itself.
LIMIT = 64 << 20
_DISTRIBUTIONS = ("expecttest", "hypothesis", "pytest-xdist", "rich")
_THERE_ALREADY = ("torch", "numpy", "pytest")
_QUESTION = Path(__file__).with_name("distributions.py")


def pack(environment: Environment, into: Pack | None = None, limit: int = LIMIT) -> int:
    """Fills the folder anew, prints what each thing takes, and refuses what is too large."""
    into = into or Pack()
    fresh = Pack(into.folder.with_name(f"{into.folder.name}.new"))
    shutil.rmtree(fresh.folder, ignore_errors=True)
    fresh.folder.mkdir(parents=True)
    try:
        with console.step("pack"):
            _libraries(fresh)
            _cuda(environment, fresh)
            distributions = _python(environment, fresh)
            fresh.contents.write_text(json.dumps({"python": distributions}, indent=1) + "\n")
        _check_size(fresh, limit)
        shutil.rmtree(into.folder, ignore_errors=True)
        fresh.folder.rename(into.folder)
    finally:
        shutil.rmtree(fresh.folder, ignore_errors=True)
    console.title(f"\nTake {into.folder.relative_to(ROOT)} along with the tree.")
    return 0


def _libraries(pack: Pack) -> None:
    """As they are installed: static and shared ones of an older system serve on a newer one, while
    sources would meet whatever a newer compiler warns of."""
    for _, packages in LIBRARIES.values():
        for package in packages:
            listed = shell.output(["dpkg-query", "--listfiles", package]).splitlines()
            if not listed:
                raise console.Failure(
                    f"{package} is not installed as a Debian package, which --pack copies from."
                )
            for file in map(Path, listed):
                if file.is_relative_to("/usr/include") or file.is_relative_to("/usr/lib"):
                    _copy_with_links(file, pack.folder)


def _copy_with_links(file: Path, root: Path) -> None:
    """The file under each name that leads to it: what travels may not keep links."""
    if file.is_dir():
        return
    content = file.resolve()
    while True:
        target = root / file.relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(content, target)
        if not file.is_symlink():
            return
        file = file.parent / os.readlink(file)


def _cuda(environment: Environment, pack: Pack) -> None:
    """Headers of CUDA's wheel, not those of a toolkit: they are a tenth of the size."""
    wheel = Places.of(environment).wheels / "nvidia/cu13"
    if not (wheel / "include/crt").is_dir():
        raise console.Failure(f"{environment.python} lacks nvidia-cuda-runtime, nvidia-cuda-crt.")
    shutil.copytree(wheel / "include", pack.cuda / "include")
    (pack.cuda / "lib").mkdir()
    for library in (wheel / "lib").glob("libcudart.so.*"):
        shutil.copyfile(library, pack.cuda / "lib" / library.name)


def _python(environment: Environment, pack: Pack) -> dict[str, dict[str, str]]:
    """What the tests and the demo import, and the digits that the demo is trained on."""
    question = [environment.python, _QUESTION, *_DISTRIBUTIONS, "--", *_THERE_ALREADY]
    answer = shell.output(question)
    if not answer:
        raise console.Failure(f"{environment.python} lacks one of {', '.join(_DISTRIBUTIONS)}.")
    contents = {}
    for name, about in json.loads(answer).items():
        for file in about.pop("files"):
            target = pack.python / name / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(Path(about["root"], file), target)
        del about["root"]
        contents[name] = about
    digits = Places.of(environment).wheels / "sklearn/datasets/data/digits.csv.gz"
    if not digits.exists():
        raise console.Failure(f"{environment.python} lacks scikit-learn.")
    shutil.copyfile(digits, pack.digits)
    return contents


def _check_size(pack: Pack, limit: int) -> None:
    sizes = {"the tree itself": _size_of_tree()}
    for folder in (pack.prefix, pack.cuda, *pack.python.iterdir()):
        sizes[f"{folder.relative_to(pack.folder)}"] = _size(folder)
    sizes[pack.digits.name] = pack.digits.stat().st_size
    lines = [
        f"  {name:<26} {size / 2**20:6.1f} MiB"
        for name, size in sorted(sizes.items(), key=lambda item: -item[1])
    ]
    whole = sum(sizes.values())
    console.title("\n".join([*lines, f"  {'together':<26} {whole / 2**20:6.1f} MiB"]))
    if whole > limit:
        raise console.Failure(
            f"Together that is more than the {limit / 2**20:.0f} MiB that are meant to travel: "
            "what is not of the tree should be ignored by git, or be kept elsewhere."
        )


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _size_of_tree() -> int:
    """What git tracks, and what it does not ignore."""
    listed = shell.output(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
    files = (ROOT / name for name in listed.split("\0") if name)
    return sum(file.lstat().st_size for file in files if file.is_file() or file.is_symlink())
