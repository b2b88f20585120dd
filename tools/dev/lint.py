"""./dev lint and ./dev format: clang-format, clang-tidy and ruff over what git would commit."""

import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import build, console, shell
from .environment import Environment
from .paths import ROOT
from .report import Report

_CPP = ("*.c", "*.cpp", "*.h", "*.hpp")
_PYTHON = ("*.py", "dev")
_FINDING = re.compile(r"^/.*(?:warning|error): .*$", re.MULTILINE)


def format_sources(environment: Environment, only: list[str]) -> int:
    """Formats in place: `only` these files and folders, or all."""
    with console.step("clang-format") as step:
        sources = _files(_CPP, only)
        if sources:
            shell.run("clang-format", [_tool(environment, "clang-format"), "-i", *sources])
        step.note = f"{len(sources)} files"
    with console.step("ruff") as step:
        sources = _files(_PYTHON, only)
        if sources:
            ruff = _tool(environment, "ruff")
            shell.run("ruff", [ruff, "check", "--fix-only", "--quiet", *sources])
            shell.run("ruff", [ruff, "format", *sources], append=True)
        step.note = f"{len(sources)} files"
    return 0


def run(environment: Environment, everything: bool) -> int:
    report = Report()
    report.part("format", lambda: check(environment))
    report.part("clang-tidy", lambda: _tidy(environment, everything))
    return report.finish()


def check(environment: Environment) -> str:
    """The format, and ruff's rules; without clang-tidy, which takes minutes."""
    return f"{_clang_format(environment)} of C++, {_ruff(environment)} of Python"


def _clang_format(environment: Environment) -> str:
    with console.step("clang-format") as step:
        sources = _files(_CPP)
        command = [_tool(environment, "clang-format"), "--dry-run", *sources]
        done = shell.run("clang-format", command)
        wrong = sorted(set(re.findall(r"^(\S+):\d+:\d+: warning", done.stdout, re.MULTILINE)))
        if wrong:
            listed = "\n  ".join(wrong)
            raise console.Failure(f"Not formatted, which ./dev format puts right:\n  {listed}")
        step.note = f"{len(sources)} files"
    return step.note


def _ruff(environment: Environment) -> str:
    with console.step("ruff") as step:
        ruff, sources = _tool(environment, "ruff"), _files(_PYTHON)
        shell.run("ruff", [ruff, "check", "--output-format", "concise", *sources])
        shell.run("ruff", [ruff, "format", "--check", *sources], append=True)
        step.note = f"{len(sources)} files"
    return step.note


def _tidy(environment: Environment, everything: bool) -> str:
    """Over the sources that differ from the main branch, or over all of them."""
    with console.step("configure for clang-tidy"):
        database = build.configure(environment, "no-unity")
    compiled = (database / "compile_commands.json").read_text()
    names = _files(("*.cpp",)) if everything else _changed()
    sources = [ROOT / name for name in names if f'"{ROOT / name}"' in compiled]
    tidy = [_tool(environment, "clang-tidy"), "--quiet", "-p", database]

    def check(source: Path) -> list[str]:
        name = "-".join(source.relative_to(ROOT).with_suffix("").parts)
        done = shell.run(f"tidy/{name}", [*tidy, source], check=False)
        return _FINDING.findall(done.stdout)

    # A header's finding comes with each source that includes it.
    findings: dict[str, None] = {}
    with console.step("clang-tidy") as step, ThreadPoolExecutor(environment.jobs) as pool:
        for done, finding in enumerate(pool.map(check, sources), start=1):
            step.progress(f"{done}/{len(sources)}")
            findings.update(dict.fromkeys(finding))
        if findings:
            found = "\n".join(line.removeprefix(f"{ROOT}/") for line in findings)
            raise console.Failure(f"{found}\nWith their surroundings: build/log/tidy/")
        step.note = f"{len(sources)} files"
    return step.note


def _tool(environment: Environment, name: str) -> Path | str:
    return environment.tool(name) or name


def _files(patterns: Iterable[str], only: Iterable[str] = ()) -> list[str]:
    known = shell.output(["git", "ls-files", "-co", "--exclude-standard", "--", *patterns])
    folders = [Path(name).resolve() for name in only]
    return [
        name
        for name in known.splitlines()
        if (ROOT / name).is_file()
        and (not folders or any((ROOT / name).is_relative_to(folder) for folder in folders))
    ]


def _changed() -> list[str]:
    base = shell.output(["git", "merge-base", "HEAD", "origin/main"]) or "HEAD"
    names = shell.output(["git", "diff", "--name-only", base]).splitlines()
    names += shell.output(["git", "ls-files", "-o", "--exclude-standard"]).splitlines()
    return [name for name in names if name.endswith(".cpp") and (ROOT / name).is_file()]
