"""The backends that are installed: whether each fits this torch and Python, and the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .. import variables
from . import explaining
from .child import Report
from .finding import NOTE, OK, PROBLEM, Finding, one_line
from .installed import Backend, Installed, fits_this_python, own_suffix
from .pytorch import minor

_SECTION = "backends"
_NO_BACKEND = "privateuseone"
AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"
_ISSUE = "pytorch#161129"


def torch_loads_backends() -> bool:
    """As torch decides it."""
    return (variables.text(AUTOLOAD) if AUTOLOAD in variables.names() else "1") == "1"


def findings(
    installed: Installed, torch: Report | None, contacts: Mapping[str, Report]
) -> Iterator[Finding]:
    for text in installed.broken:
        yield Finding(
            _SECTION,
            "metadata",
            one_line(text),
            PROBLEM,
            "a package is half installed: remove that folder, and install the package again",
        )
    if not installed.backends:
        yield Finding(
            _SECTION,
            "installed",
            "none: no package has an entry point in the group torch.backends",
            OK,
            "make one, or install one",
            "outback new acme",
        )
    for backend in installed.backends:
        yield from _of(backend, installed)
    if torch is not None and installed.backends:
        yield from _loading(installed, torch)
        yield from _beside_cuda(installed, torch, contacts)
    yield from _several(installed, contacts)


def _of(backend: Backend, installed: Installed) -> Iterator[Finding]:
    named = f"{backend.distribution or backend.package}, "
    named += f"entry point {backend.value}" if backend.value else "no entry point"
    if not backend.is_there:
        yield Finding(
            _SECTION,
            backend.name,
            f"{named}, whose module cannot be found: `import torch` fails",
            PROBLEM,
            "the package is gone and its entry point is not: uninstall it, or install it again",
            f"pip uninstall {backend.distribution.partition(' ')[0]}",
        )
        return
    if not backend.value:
        yield Finding(
            _SECTION,
            backend.name,
            f"{named}, {backend.folder}: `import torch` does not load it",
            NOTE,
            f"`import {backend.package}` does; a wheel that is installed has an entry point",
        )
    else:
        fits = f", for torch {', '.join(backend.halves)}" if backend.halves else ""
        place = f", {backend.folder}" if backend.folder else ""
        yield Finding(_SECTION, backend.name, f"{named}{place}{fits}")
    if backend.of_outback and variables.text("OUTBACK_COMPILE") == "1":
        return  # the import compiles what does not fit
    yield from _wrong_torch(backend, installed.torch_version)
    if backend.of_outback:
        yield from _wrong_python(backend, installed.torch_version)


def _wrong_torch(backend: Backend, torch: str) -> Iterator[Finding]:
    here = ".".join(map(str, minor(torch)))
    if not here:
        return
    wanted = pip = ""
    if backend.halves and here not in backend.halves:
        wanted = ", ".join(backend.halves)
        pip = f"=={list(backend.halves)[-1]}.*"
    elif not backend.halves and not _allows(backend.torch_wanted, torch):
        wanted = pip = backend.torch_wanted
    if wanted:
        yield Finding(
            _SECTION,
            f"{backend.name}: torch",
            f"{backend.distribution or backend.package} is for torch {wanted}, and this is {torch}",
            PROBLEM,
            "install the torch that it was built for, or the backend that was built for this torch",
            f"pip install 'torch{pip}'",
        )


def _allows(specifiers: str, version: str) -> bool:
    try:
        from packaging.specifiers import InvalidSpecifier, SpecifierSet
    except ImportError:  # it comes with what builds projects
        return True
    try:
        return SpecifierSet(specifiers).contains(version, prereleases=True)
    except InvalidSpecifier:
        return True


def _wrong_python(backend: Backend, torch: str) -> Iterator[Finding]:
    here = ".".join(map(str, minor(torch)))
    modules = backend.halves.get(here, sum(backend.halves.values(), ()))
    if any(map(fits_this_python, modules)):
        return
    found = ", ".join(modules)
    yield Finding(
        _SECTION,
        f"{backend.name}: compiled part",
        f"{backend.folder} has {found or 'none'}, and this Python imports _C{own_suffix()}",
        PROBLEM,
        "it was built for another Python: build it again here"
        if found
        else "it was not compiled: install the wheel, or build it here",
        "pip install --no-build-isolation --force-reinstall --no-deps <its folder>",
    )


def _loading(installed: Installed, torch: Report) -> Iterator[Finding]:
    """What `import torch` does by itself, in this environment."""
    name, told = "import torch", torch.told
    if "version" not in told:  # which is told of elsewhere
        return
    if not torch_loads_backends():
        text = f"loads no backend by itself, since {AUTOLOAD} is not 1"
        packages = ", ".join(it.package for it in installed.backends)
        advice = f"import it in the program ({packages}), or unset the variable"
        yield Finding(_SECTION, name, text, NOTE, advice, f"unset {AUTOLOAD}")
    elif torch.death and "loaded" not in told:
        advice = f"{AUTOLOAD}=0 keeps `import torch` from loading backends"
        text = torch.how_it_ended()
        yield Finding(_SECTION, name, text, PROBLEM, advice, f"export {AUTOLOAD}=0")
    elif error := told.get("load_error"):
        text = explaining.told(error)
        advice, command = explaining.of(text)
        yield Finding(
            _SECTION,
            name,
            one_line(f"fails: {error['outer']} {text}"),
            PROBLEM,
            advice or f"{AUTOLOAD}=0 keeps `import torch` from loading backends",
            command or ("" if advice else f"export {AUTOLOAD}=0"),
        )
    else:
        yield from _loaded(name, told)


def _loaded(name: str, told: dict) -> Iterator[Finding]:
    warned = one_line("; ".join(told.get("warnings", ())))
    loaded = told.get("loaded", _NO_BACKEND)
    said = one_line(told.get("loading_said", ""))
    text = f"loads {loaded if loaded != _NO_BACKEND else 'no backend of the key PrivateUse1'}"
    if warned:
        advice, command = explaining.of(warned)
        yield Finding(_SECTION, name, f"{text}, and warns: {warned}", PROBLEM, advice, command)
    elif loaded == _NO_BACKEND and said:
        yield Finding(_SECTION, name, f"{text}, and says: {said}", NOTE, "as it says")
    else:
        yield Finding(_SECTION, name, text)


def _beside_cuda(
    installed: Installed, torch: Report, contacts: Mapping[str, Report]
) -> Iterator[Finding]:
    """A backend and torch's CUDA, ROCm or XPU in one process."""
    told = torch.told
    kinds = {"cuda": "CUDA", "hip": "ROCm", "xpu": "XPU"}
    built = [kinds[key] for key in kinds if told.get(key)]
    breaking = [it for it in installed.backends if _registers(it, contacts)]
    if not built or not breaking:
        return
    kind = " and ".join(built)
    devices = told.get("cuda_devices", 0) + told.get("xpu_devices", 0)
    breaks = (
        f"while a backend is loaded, backward() of plain {kind} tensors fails ({_ISSUE}); that of "
        f"the backend's own tensors works"
    )
    name = f"beside {kind}"
    packages = ", ".join(it.package for it in breaking)
    loaded = told.get("loaded", _NO_BACKEND) != _NO_BACKEND
    if not devices:
        yield Finding(_SECTION, name, f"no such device is visible here; where one is, {breaks}")
    elif not loaded:
        advice = f"in programs that use both, import {packages} only where that is no harm"
        yield Finding(_SECTION, name, f"`import torch` loads none; {breaks}", NOTE, advice)
    elif all(it.stands_on_cuda for it in breaking):
        advice = "use the backend's tensors in place of plain CUDA tensors, as it is meant"
        yield Finding(_SECTION, name, f"`import torch` loads one; {breaks}", NOTE, advice)
    else:
        ours = all(it.of_outback for it in breaking)
        variable = "OUTBACK_AUTOLOAD" if ours else AUTOLOAD
        advice = f"let programs that use it import {packages}, and `import torch` load none"
        command = f"unset {variable}" if ours else f"export {variable}=0"
        yield Finding(
            _SECTION, name, f"`import torch` loads one; {breaks}", PROBLEM, advice, command
        )


def _registers(backend: Backend, contacts: Mapping[str, Report]) -> bool:
    report = contacts.get(backend.name)
    return backend.of_outback or (report is not None and "device" in report.told)


def _several(installed: Installed, contacts: Mapping[str, Report]) -> Iterator[Finding]:
    mine = [it for it in installed.backends if _registers(it, contacts)]
    if len({it.distribution or it.package for it in mine}) < 2:  # one may have two entry points
        return
    names = " and ".join(it.name for it in mine)
    loaded = [it for it in mine if it.value]
    stays = torch_loads_backends() and len(loaded) > 1
    removable = mine[-1].distribution.partition(" ")[0] or mine[-1].package
    yield Finding(
        _SECTION,
        "conflict",
        f"{names} are installed, and PyTorch has room for one in a process: the first that is "
        f"loaded stays, and every other fails",
        PROBLEM if stays else NOTE,
        f"uninstall all but one; or set {AUTOLOAD}=0, and import the one in each program",
        f"pip uninstall {removable}",
    )
