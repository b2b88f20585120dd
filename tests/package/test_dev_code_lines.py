"""What ./dev lint counts as a line of code."""

import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from dev import code_lines, lint


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("int a;\n\n  \nint b;\n", 2),
        ("// one\nint a;  // and its use\n/* two\n   three */\n", 1),
        ("/* before */ int a;\n/* a\n*/ int b; /* c */\n", 2),
        ('auto a = "// no comment";\nauto b = "\\"/*";\nint c;\n', 3),
        ("int a = 1'000'000;  // it's\nint b;\n// c'\n", 2),
        ("char a = '\"';  // a\nchar b = '\\'';\n// c\n", 2),
        ('auto a = R"(// text\n\n/* "text)";\nint b;\n', 3),
        ('auto a = R"x()" // text\n)x";\n// b\n', 2),
        ("// goes on \\\nint a;\nint b;\n", 1),
        ("#define A \\\n  1\n#include <b.h>\n", 3),
    ],
)
def test_counts_of_cpp(text, lines):
    assert code_lines.in_cpp(text) == lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('"""Says\n\nmore."""\n\nimport os\n', 1),
        ("# one\na = 1  # and its use\n\n\nb = 2\n", 2),
        ('def f():\n    """Doc."""\n    # why\n    return 1\n', 2),
        ("class A:\n    x: int\n    '''What x is.'''\n", 2),
        ('a = """text\n# no comment\n\nend"""\n', 3),
        ("a = [\n    1,\n    # two\n\n    2,\n]\n", 4),
        ('f(\n    "a"\n)\n', 3),
        ('a = f"""{1}\n# {2}\n"""\n', 3),
    ],
)
def test_counts_of_python(text, lines):
    assert code_lines.in_python(text) == lines


def test_counts_are_of_what_outback_is_made_of():
    names = ["tools/dev/lint.py", "registration/name.cpp", "generators/CMakeLists.txt"]
    lines = code_lines.by_folder(names)
    assert lines["registration"] > 20
    assert lines["generators"] == lines["backend_template"] == 0


def test_lint_prints_them(monkeypatch, capsys):
    for check in ("_clang_format", "_ruff", "_tidy"):
        monkeypatch.setattr(lint, check, lambda *_: "")
    assert lint.run(None, everything=False) == 0
    printed = capsys.readouterr().out
    [row] = [line for line in printed.splitlines() if "code lines" in line]
    assert all(f"{folder} " in row for folder in code_lines.FOLDERS)
