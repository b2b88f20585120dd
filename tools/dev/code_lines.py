"""Counts lines of code, C++ and Python: neither blank nor only a comment or a docstring."""

import io
import re
import tokenize
from collections.abc import Iterable
from pathlib import Path

from .paths import ROOT

# What Outback itself is: its tests, tools and examples are not counted, nor is what is generated.
FOLDERS = ("registration", "generators", "backend_template")
CPP = (".c", ".cpp", ".def", ".h", ".hpp", ".inc")

# The next thing in C++ that may hold a quote or a comment's beginning. A number comes before the
# characters, because of the quotes in 1'000.
_CPP_TOKEN = re.compile(
    r"""
      (?P<comment> //(?:\\\n|[^\n])* | /\*.*?\*/ )
    | R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)"
    | "(?:\\.|[^"\\\n])*"
    | \b\d(?:'?[\w.])*
    | '(?:\\.|[^'\\\n])*'
    """,
    re.VERBOSE | re.DOTALL,
)
_NO_CODE = (
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
)


def in_cpp(text: str) -> int:
    def without_comment(found: re.Match) -> str:
        return "\n" * found[0].count("\n") if found["comment"] else found[0]

    code = _CPP_TOKEN.sub(without_comment, text)
    return sum(1 for line in code.splitlines() if line.strip())


def in_python(text: str) -> int:
    """A string that is a statement of its own says something to readers only: a docstring."""
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    begins, lines = True, set()
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        docstring = begins and token.type == tokenize.STRING and following.type == tokenize.NEWLINE
        if token.type not in _NO_CODE and not docstring:
            lines.update(range(token.start[0], token.end[0] + 1))
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            begins = token.type in _NO_CODE
    written = text.splitlines()
    return sum(1 for line in lines if written[line - 1].strip())


def by_folder(names: Iterable[str]) -> dict[str, int]:
    """The code lines of each of FOLDERS; `names` are of sources, relative to the root."""
    lines = dict.fromkeys(FOLDERS, 0)
    for path in map(Path, names):
        if path.parts[0] not in lines:
            continue
        if path.suffix in CPP:
            lines[path.parts[0]] += in_cpp((ROOT / path).read_text("utf-8"))
        elif path.suffix == ".py":
            lines[path.parts[0]] += in_python((ROOT / path).read_text("utf-8"))
    return lines
