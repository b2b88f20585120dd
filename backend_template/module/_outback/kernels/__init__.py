"""What compile_kernel(..., language="dialect") makes of a kernel in Outback's dialect
(outback/dialect.h): text or code in the first of the device's formats that can be made here.
"""

import dataclasses
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from .. import _native
from . import cache, compilers
from .headers import HEADERS

compilers.read_variable = _native.variable

# How many items a group has by default: so many, or the most that the device takes.
_ITEMS = 256


@dataclasses.dataclass(frozen=True)
class Target:
    """A device, as compilers see it."""

    formats: list[int]
    target: str  # the driver's name for it; may be empty
    most_items: int  # in a group; 0: the driver does not tell
    has_float64: bool
    has_float16: bool
    has_int64_atomics: bool


def target_of(device: int, caller: str = "compile_kernel") -> Target:
    """Raises NotImplementedError, with the function's name that the user has called, where the
    runtime launches no kernels."""
    return Target(*_native.kernel_target(device, caller))


def module_of(
    source: str, items: int | None, target: Target, folder: Path | None = None
) -> tuple[int, bytes, int]:
    """The format, the bytes, and how many items a group of each kernel has. What a compiler makes
    is kept in `folder`, or where cache.py says.

    Raises ValueError for items that are no power of two or too many, and for a source without the
    dialect's header; and RuntimeError where no compiler is there or the compiler refuses the text:
    with its words.
    """
    items = _items(items, target)
    _check_header(source)
    definitions, text = _definitions(items, target), _with_headers(source)
    number, compiler = _chosen(target)
    # Below the definitions, so that a vendor's words see what the device has.
    whole = definitions + compiler.words + text
    return number, _made(number, compiler, whole, target.target, folder), items


def why_not(target: Target) -> str | None:
    """Why the dialect cannot be compiled for the device here; None: it can."""
    try:
        _chosen(target)
    except RuntimeError as error:
        return str(error)
    return None


def _chosen(target: Target) -> tuple[int, compilers.Compiler]:
    missing = []
    for number in target.formats:
        compiler = compilers.of(number)
        if compiler is None:
            continue
        why_not = compiler.why_not(target.target)
        if why_not is None:
            return number, compiler
        missing.append(why_not)
    listed = "; ".join(missing) or _nothing_compiles_to(target.formats)
    raise RuntimeError(
        f"compile_kernel: the dialect cannot be compiled for this device here: {listed}"
    )


def register_kernel_compiler(
    number: int,
    compile: Callable[[str, str], bytes] | Sequence[str],
    *,
    words: str,
    version: str,
) -> None:
    """Lets `compile_kernel` and torch.compile compile the dialect for a format of the vendor's own,
    1000 or more.

    `words` is the text of the header with the dialect's words in the vendor's language. Above it
    stand LSIZE, and HAS_F64, HAS_F16 and HAS_I64_ATOMICS if the device has these. `compile` is

    - a function: `compile(text, target)` returns the module's bytes, and raises an exception with
      the compiler's words if it refuses the text. Several threads may call it at once; or
    - a command, such as ["acmecc", "-O2", "{source}", "-o", "{made}"]: a program and its arguments,
      of which "{source}" becomes the file with the text, "{made}" the file that the program
      writes, and "{target}" the driver's name for the device. If the program ends with another
      status than 0, the error has what it has printed.

    `version` names the compiler: for another one, kernels are compiled again. A second call for a
    format replaces the first.
    """
    if number < 1000:
        raise ValueError(f"number is {number}: expected a vendor's own format, 1000 or more")
    if callable(compile):
        compilers.add(number, compilers.VendorsFunction(compile, words, version))
        return
    command = list(compile) if isinstance(compile, (list, tuple)) else [f"{compile}"]
    for needed in ("{source}", "{made}"):
        if needed not in command:
            raise ValueError(
                f"compile is {compile!r}: expected a function, or a command with the argument "
                f'"{needed}"'
            )
    compilers.add(number, compilers.VendorsProgram(command, words, version))


def _items(items: int | None, target: Target) -> int:
    most = target.most_items or _ITEMS
    if most < 32:
        raise RuntimeError(
            f"compile_kernel: a group of this device has at most {most} items, and the dialect "
            "needs 32"
        )
    if items is None:
        items = min(_ITEMS, 1 << (most.bit_length() - 1))
    if items < 32 or items & (items - 1):
        raise ValueError(f"compile_kernel: items is {items}: expected a power of two of 32 or more")
    if items > most:
        raise ValueError(
            f"compile_kernel: items is {items}, and a group of this device has at most {most}"
        )
    return items


def _check_header(source: str) -> None:
    # A build may have put the header itself into the text, with its guard.
    if not re.search(r'#\s*include\s*["<]outback/dialect\.h|OUTBACK_DIALECT_H\b', source):
        raise ValueError(
            'compile_kernel: the source has no line #include "outback/dialect.h", which each '
            "kernel in the dialect needs"
        )


def _nothing_compiles_to(formats: list[int]) -> str:
    text = f"nothing compiles the dialect to {formats}"
    own = [number for number in formats if number >= 1000]
    if own:
        text += f"; register_kernel_compiler({own[0]}, ...) gives it a compiler"
    return text


def _definitions(items: int, target: Target) -> str:
    lines = [f"#define LSIZE {items}"]
    lines += ["#define HAS_F64"] * target.has_float64
    lines += ["#define HAS_F16"] * target.has_float16
    lines += ["#define HAS_I64_ATOMICS"] * target.has_int64_atomics
    return "".join(f"{line}\n" for line in lines)


_INCLUDE = re.compile(r"""\s*#\s*include\s*(?:"([^"]*)"|<([^>]*)>)(.*)""")


def _with_headers(source: str) -> str:
    """Each #include of a header of the dialect becomes the header, so that compilers need no
    folders. The line numbers of the source stay."""
    lines = ['#line 1 "kernel"']
    # Not by splitlines(), to which a form feed or U+2028 ends a line too.
    for number, line in enumerate(re.split(r"\r\n?|\n", source.removeprefix("\ufeff")), 1):
        if found := _INCLUDE.fullmatch(line):
            name = found[1] or found[2]
            if name in HEADERS:
                line = f'{HEADERS[name]}\n#line {number} "kernel"\n{found[3]}'
        lines.append(line)
    return "\n".join(lines) + "\n"


def _made(
    number: int, compiler: compilers.Compiler, text: str, target: str, folder: Path | None
) -> bytes:
    if compiler.is_quick:
        return compiler.compile(text, target)
    key = cache.key_of(str(number), compiler.version(), target, text)
    found = cache.found(key, folder)
    return found or cache.kept(key, compiler.compile(text, target), folder)
