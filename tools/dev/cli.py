"""The command line of ./dev."""

import argparse
import dataclasses
import os
import sys
from pathlib import Path

from . import (
    bench,
    build,
    conformance_page,
    console,
    contract_page,
    demo,
    documentation,
    environment,
    gpu,
    lint,
    runtime_table,
    shell,
    stubs,
    suites_page,
    system,
    test,
)
from .architecture import page as architecture_page
from .environment import Environment
from .paths import BUILD, ROOT
from .report import Report

_DESCRIPTION = """\
Builds, tests and measures Outback, and first sets up all that this needs: a virtual environment
with torch in .venv and, for root on a Debian, the missing packages. Logs are in build/log.
"""


def main() -> int:
    arguments, rest = _parser().parse_known_args()
    if rest and not arguments.passes_on:
        _parser().error(f"unrecognized arguments: {' '.join(rest)}")
    arguments.rest = [word for word in rest if word != "--"]
    console.verbose = arguments.verbose
    return console.exit_code_of(lambda: arguments.run(arguments))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./dev", description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    common = _common_options()

    def command(name: str, run, help: str, passes_on: str = "") -> argparse.ArgumentParser:
        note = f"Other options go to {passes_on}." if passes_on else None
        sub = commands.add_parser(
            name, help=help, description=f"{help}.", epilog=note, parents=[common]
        )
        sub.set_defaults(run=run, passes_on=bool(passes_on))
        return sub

    command(
        "demo",
        _demo,
        "train on handwritten digits, on the scaffold backend and on the CPU",
        passes_on="examples/train_digits/train.py",
    )
    _add_test_options(command("test", _test, "run the C++ and Python tests, as CI does"))
    command("bench", _bench, "measure the backend against PyTorch's CPU", passes_on="bench/run.py")
    _add_gpu_options(
        command(
            "gpu",
            _gpu,
            "run the CUDA runtime's suite, the Python tests and figures on the devices here",
            passes_on="pytest, after --",
        )
    )
    command(
        "docs",
        _docs,
        "write what is generated of docs/ and the type stubs of the scaffold, and build the site",
    )
    command(
        "conformance-page",
        _conformance_page,
        "write docs/conformance_reports.md from the reports of ./dev test's parts conformance-*",
    )
    lints = command("lint", _lint, "check the format, ruff's rules, and changed sources with tidy")
    lints.add_argument("--all", action="store_true", help="clang-tidy over every source")
    formats = command("format", _format, "format C++ and Python sources in place")
    formats.add_argument("only", nargs="*", metavar="PATH", help="these files and folders only")
    return parser


def _add_test_options(tests: argparse.ArgumentParser) -> None:
    tests.epilog = _TEST_EPILOG
    tests.formatter_class = argparse.RawDescriptionHelpFormatter
    tests.add_argument(
        "names", nargs="*", metavar="PATH_OR_NAME", help="build what these need, and run just them"
    )
    which = tests.add_argument_group("which parts")
    which.add_argument("--all", action="store_true", help="everything that takes longer, too")
    which.add_argument(
        "--only", metavar="PART[,PART...]", type=_words, default=[], help="these parts alone"
    )
    which.add_argument(
        "--resume", action="store_true", help="not the parts that have passed on this very commit"
    )
    which.add_argument(
        "--list", dest="list_parts", action="store_true", help="the parts, and how long they took"
    )
    which.add_argument(
        "--with",
        dest="libraries",
        metavar="LIBRARY==VERSION[,...]",
        type=_words,
        default=[],
        help="of the part libraries: not the versions of tools/dev/requirements/libraries.txt",
    )
    named = tests.add_argument_group("how those that are named are run")
    named.add_argument(
        "--on", metavar="RUN[,RUN...]", type=_words, default=[], help="Python: on these runtimes"
    )
    named.add_argument("-x", dest="stop", action="store_true", help="stop at the first failure")


_TEST_EPILOG = """\
PATH_OR_NAME is a test's file, with ::test behind it or not; a folder of tests; a source, whose
name its tests have; a GoogleTest filter (EventTest.*); the name of a Python test; or what ctest -R
takes.

Ends with 0: all passed; 1: a test failed; 2: there is no such test; 3: it does not build.
"""


def _words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def _common_options() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("-v", "--verbose", action="store_true", help="show what the steps print")
    group = common.add_argument_group("which torch")
    group.add_argument(
        "--torch",
        metavar="VERSION",
        default=environment.DEFAULT_TORCH,
        help="the release to build against (default: %(default)s); each has its own environment",
    )
    group.add_argument(
        "--torch-index", metavar="URL", help="where pip finds it, if not where it looks anyway"
    )
    group.add_argument(
        "--system-torch",
        action="store_true",
        help="the torch of the active python; installs nothing and needs no network",
    )
    return common


def _add_gpu_options(devices: argparse.ArgumentParser) -> None:
    devices.add_argument(
        "--only",
        metavar="PART,...",
        type=lambda text: text.split(","),
        help=f"of {', '.join(gpu.PARTS)}; without build, what was built before is used, and build "
        "alone builds what any of them needs",
    )
    devices.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        default=BUILD / "gpu",
        help="where each part's log and result go as it ends (default: build/gpu)",
    )
    devices.add_argument(
        "--limit", metavar="SECONDS", type=float, help="end a part that takes longer, as a failure"
    )
    devices.add_argument("--save", action="store_true", help="write the figures to bench/results")
    devices.add_argument(
        "--pack",
        action="store_true",
        help="instead, fill .pack with what a machine without a network will lack",
    )


def _environment(
    arguments: argparse.Namespace,
    *modules: str,
    requirements: tuple[str, ...] = ("run",),
    **packages: bool,
) -> Environment:
    """What the work needs: Debian packages, and `modules` in a Python with torch."""
    own = not arguments.system_torch
    system.provide(venv=own, install=own, **packages)
    if own:
        found = environment.provide(arguments.torch, arguments.torch_index, *requirements)
    else:
        found = environment.active(modules)
    console.title(f"Outback, torch {found.torch}")
    return found


def _as_it_is(arguments: argparse.Namespace) -> Environment | None:
    """The environment of an earlier run, where nothing is to be done for it: looks no further."""
    if arguments.system_torch:
        return environment.active(("pytest",))
    return environment.found(arguments.torch, arguments.torch_index, "run", "docs")


def _demo(arguments: argparse.Namespace) -> int:
    return demo.run(_environment(arguments, "numpy", "sklearn", "rich"), arguments.rest)


def _test(arguments: argparse.Namespace) -> int:
    known = {field.name for field in dataclasses.fields(test.Options)}
    options = test.Options(**{key: value for key, value in vars(arguments).items() if key in known})
    options.check()
    found = _as_it_is(arguments) if options.is_quick else None
    if found is None:
        modules = ("numpy", "pytest", "hypothesis", "rich")
        found = _environment(arguments, *modules, requirements=("run", "docs", "lint"), tests=True)
    return test.run(found, options)


def _bench(arguments: argparse.Namespace) -> int:
    return bench.run(_environment(arguments, "numpy", "rich", bench=True), arguments.rest)


def _gpu(arguments: argparse.Namespace) -> int:
    unknown = [part for part in arguments.only or () if part not in gpu.PARTS]
    if unknown:
        raise console.Failure(f"No part of ./dev gpu: {', '.join(unknown)}.")
    if arguments.rest and "--" not in sys.argv:
        raise console.Failure(f"unrecognized arguments: {' '.join(arguments.rest)}")
    # Programs of the active Python, and a CUDA Toolkit's, which few systems have on the PATH.
    path = (Path(sys.executable).parent, os.environ.get("PATH", os.defpath), "/usr/local/cuda/bin")
    os.environ["PATH"] = os.pathsep.join(map(str, path))
    if arguments.system_torch:  # what is missing, each part names by itself
        found = environment.active(())
        console.title(f"Outback, torch {found.torch}")
    else:
        found = _environment(arguments, tests=True, bench=True)
    if arguments.pack:
        return gpu.pack(found)
    request = gpu.Request(
        only=arguments.only,
        out=arguments.out,
        limit=arguments.limit,
        save=arguments.save,
        pytest=arguments.rest,
    )
    return gpu.run(found, request)


def _docs(arguments: argparse.Namespace) -> int:
    found = _environment(arguments, requirements=("run", "docs"), tests=True)
    with console.step("names that torch has taken"):
        shell.run("names", [found.python, ROOT / "tools/dev/taken_names.py"])
    folder = build.build(found, "dev")
    contract_page.write()
    suites_page.write()
    architecture_page.write(found, folder)
    runtime_table.write(folder)
    stubs.write(found, folder)
    report = Report()
    report.part("documentation", lambda: documentation.build(found))
    return report.finish()


def _conformance_page(arguments: argparse.Namespace) -> int:
    console.title(conformance_page.write(_environment(arguments)).rstrip())
    return 0


def _lint(arguments: argparse.Namespace) -> int:
    return lint.run(_environment(arguments, requirements=("lint",), tests=True), arguments.all)


def _format(arguments: argparse.Namespace) -> int:
    return lint.format_sources(_environment(arguments, requirements=("lint",)), arguments.only)
