"""The command line of ./dev."""

import argparse

from . import bench, console, demo, environment, lint, system, test
from .environment import Environment


def main() -> int:
    arguments = _parser().parse_args()
    console.verbose = arguments.verbose
    return console.exit_code_of(lambda: arguments.run(arguments))


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    group = common.add_argument_group("which torch")
    group.add_argument(
        "--torch",
        metavar="VERSION",
        default=environment.DEFAULT_TORCH,
        help="the release to build against (default: %(default)s)",
    )
    group.add_argument(
        "--torch-index",
        metavar="URL",
        help="where pip finds that release, if not where it looks anyway",
    )
    group.add_argument(
        "--system-torch",
        action="store_true",
        help="the torch of the active python; installs nothing and needs no network",
    )
    common.add_argument("-v", "--verbose", action="store_true", help="show what the steps print")

    parser = argparse.ArgumentParser(prog="./dev", description=__doc__, parents=[])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run, help: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=help, description=help, parents=[common])
        sub.set_defaults(run=run)
        return sub

    command(
        "demo",
        _demo,
        "train on handwritten digits, on the scaffold backend and on the CPU",
    )
    tests = command("test", _test, "what CI runs: C++ and Python tests")
    tests.add_argument("--all", action="store_true", help="sanitizers and every other long run too")
    command("bench", _bench, "compare with PyTorch's own CPU, and print the ratios").add_argument(
        "arguments", nargs="*", help="passed on to bench/run.py"
    )
    lints = command("lint", _lint, "check formatting, and the changed sources with clang-tidy")
    lints.add_argument("--all", action="store_true", help="clang-tidy over every source")
    command("format", _format, "format C++ and Python sources in place").add_argument(
        "only", nargs="*", metavar="PATH", help="these files and folders instead of all"
    )
    return parser


def _environment(arguments: argparse.Namespace, *modules: str, **groups: bool) -> Environment:
    own = not arguments.system_torch
    system.provide(venv=own, install=own, **groups)
    if own:
        found = environment.provide(arguments.torch, arguments.torch_index)
    else:
        found = environment.active(modules)
    console.title(f"Outback, torch {found.torch}")
    return found


def _demo(arguments: argparse.Namespace) -> int:
    return demo.run(_environment(arguments, "numpy", "sklearn"))


def _test(arguments: argparse.Namespace) -> int:
    return test.run(_environment(arguments, "numpy", "pytest", tests=True), arguments.all)


def _bench(arguments: argparse.Namespace) -> int:
    return bench.run(_environment(arguments, "numpy", bench=True), arguments.arguments)


def _lint(arguments: argparse.Namespace) -> int:
    return lint.run(_environment(arguments, tests=True), arguments.all)


def _format(arguments: argparse.Namespace) -> int:
    return lint.format_sources(_environment(arguments), arguments.only)
