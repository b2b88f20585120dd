"""./dev lint and ./dev format: clang-format, clang-tidy and ruff, over what git knows or would add."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import build, console, shell
from .environment import Environment
from .paths import ROOT

_CPP = ("*.c", "*.cpp", "*.h", "*.hpp")
_PYTHON = ("*.py", "dev")


def format_sources(environment: Environment) -> int:
    with console.step("clang-format") as step:
        files = _files(_CPP)
        if files:
            shell.run(
                "clang-format", [_tool(environment, "clang-format"), "-i", *files]
            )
        step.note = f"{len(files)} files"
    with console.step("ruff"):
        ruff = _tool(environment, "ruff")
        shell.run("ruff", [ruff, "format", *_files(_PYTHON)])
        shell.run(
            "ruff",
            [ruff, "check", "--fix-only", "--quiet", *_files(_PYTHON)],
            append=True,
        )
    return 0


def run(environment: Environment, everything: bool) -> int:
    with console.step("clang-format") as step:
        files = _files(_CPP)
        if files:
            shell.run(
                "clang-format",
                [_tool(environment, "clang-format"), "--dry-run", "-Werror", *files],
            )
        step.note = f"{len(files)} files"
    with console.step("ruff"):
        ruff = _tool(environment, "ruff")
        shell.run("ruff", [ruff, "check", *_files(_PYTHON)])
        shell.run("ruff", [ruff, "format", "--check", *_files(_PYTHON)], append=True)
    _tidy(environment, everything)
    return 0


def _tidy(environment: Environment, everything: bool) -> None:
    """Over the sources that differ from the main branch, or over all of them."""
    sources = [
        ROOT / name for name in (_files(("*.cpp",)) if everything else _changed())
    ]
    with console.step("configure tidy"):
        database = build.configure(environment, "no-unity")
    compiled = (database / "compile_commands.json").read_text()
    sources = [source for source in sources if f'"{source}"' in compiled]
    with (
        console.step("clang-tidy") as step,
        ThreadPoolExecutor(environment.jobs) as pool,
    ):
        step.note = f"{len(sources)} files"
        tidy = [_tool(environment, "clang-tidy"), "--quiet", "-p", database]

        def check(source: Path) -> None:
            shell.run(f"tidy-{source.stem}", [*tidy, source])

        for done, _ in enumerate(pool.map(check, sources)):
            step.progress(f"{done + 1}/{len(sources)}")


def _tool(environment: Environment, name: str) -> Path | str:
    return environment.tool(name) or name


def _files(patterns: Iterable[str]) -> list[str]:
    known = shell.output(["git", "ls-files", "-co", "--exclude-standard", *patterns])
    return [name for name in known.splitlines() if Path(ROOT, name).is_file()]


def _changed() -> list[str]:
    base = shell.output(["git", "merge-base", "HEAD", "origin/main"]) or "HEAD"
    names = shell.output(["git", "diff", "--name-only", base]).splitlines()
    names += shell.output(["git", "ls-files", "-o", "--exclude-standard"]).splitlines()
    return [
        name for name in names if name.endswith(".cpp") and Path(ROOT, name).is_file()
    ]
