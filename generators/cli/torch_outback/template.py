"""The files of a project: the scaffold, with its names replaced and its choices made.

The scaffold is the backend acme, which Outback builds and tests as it stands. A file that ends in
.jinja is a Jinja template; in all others nothing but the names is replaced.
"""

import dataclasses
from pathlib import Path

import jinja2

from .answers import Answers

# Files of the scaffold that not every project gets, and who does.
_ONLY_FOR = {
    "src/runtime.cpp": {"runtime": "custom", "language": "c++"},
    "src/runtime.c": {"runtime": "custom", "language": "c"},
    "tests/acme.expectations": {"runtime": "custom"},
}
# What Python and editors leave behind in a source tree.
_NOT_OURS = {"__pycache__", ".pytest_cache", ".mypy_cache", "build"}
_COMMENTS = {".cpp": "//", ".c": "//", ".py": "#", ".toml": "#", ".txt": "#", ".yml": "#"}


def render(scaffold: Path, answers: Answers) -> dict[str, str]:
    """The project's files, text by path."""
    files = {}
    for file in sorted(scaffold.rglob("*")):
        path = file.relative_to(scaffold)
        if file.is_dir() or _NOT_OURS.intersection(path.parts) or path.parts[0] == "licenses":
            continue
        if not _is_wanted(path.as_posix(), answers):
            continue
        name = _named(path.as_posix(), answers.name).removesuffix(".jinja")
        if name == "gitignore":  # as .gitignore it would be one for Outback's own tree
            name = ".gitignore"
        files[name] = _with_license_line(name, _rendered(file, answers), answers)
    if answers.license != "none":
        (file,) = (scaffold / "licenses").glob(f"{answers.license}*")
        files["LICENSE"] = _rendered(file, answers)
    return files


def _is_wanted(path: str, answers: Answers) -> bool:
    wanted = _ONLY_FOR.get(path, {})
    return all(getattr(answers, key) == value for key, value in wanted.items())


def _rendered(file: Path, answers: Answers) -> str:
    # The names first: what the author answered stays as it is.
    text = _named(file.read_text(encoding="utf-8"), answers.name)
    if file.suffix != ".jinja":
        return text
    environment = jinja2.Environment(
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # source code, which no browser reads
    )
    runtime_source = "src/runtime.c" if answers.language == "c" else "src/runtime.cpp"
    return environment.from_string(text).render(
        **dataclasses.asdict(answers),
        runtime_source=runtime_source,
        requirement=answers.requirement,
    )


def _named(text: str, name: str) -> str:
    camel_case = "".join(part.capitalize() for part in name.split("_"))
    return text.replace("acme", name).replace("ACME", name.upper()).replace("Acme", camel_case)


def _with_license_line(path: str, text: str, answers: Answers) -> str:
    comment = _COMMENTS.get(Path(path).suffix)
    if comment is None or answers.license == "none":
        return text
    return f"{comment} SPDX-License-Identifier: {answers.license}\n{text}"
