"""torch.acme.compile_kernel(..., language="dialect"): what it compiles with, keeps and refuses."""

import ctypes
import gc
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch

pytestmark = pytest.mark.any_runtime

SOURCE = """
#include "outback/dialect.h"
#include "outback/dialect/special.h"

KERNEL(group_size, i64 n, GLOBAL f32* out) {
  EACH(i, n) { out[i] = LSIZE; }
}
KERNEL(psi, i64 n, GLOBAL f32* out, const GLOBAL f32* in) {
  EACH(i, n) { out[i] = digamma_f32(in[i]); }
}
"""
FIBERS = f"#define OUTBACK_DIALECT_FIBERS\n{SOURCE}"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("OUTBACK_CACHE_DIR", str(tmp_path))
    return tmp_path / "kernels"


def compiled(source: str = SOURCE, name="group_size", **how):
    return torch.acme.compile_kernel(source, name, language="dialect", **how)


def group_size(kernel) -> float:
    out = torch.zeros(1, device="acme")
    kernel(1, kernel.items, (ctypes.c_int64(1), out))
    return out.item()


def test_a_group_has_as_many_items_as_asked_for():
    assert compiled().items == 256
    assert group_size(compiled()) == 256
    assert group_size(compiled(items=64)) == 64


@pytest.mark.parametrize(
    ("items", "why"),
    [(48, "a power of two of 32 or more"), (16, "32 or more"), (1 << 20, "has at most")],
)
def test_other_sizes_are_refused(items, why):
    with pytest.raises(ValueError, match=f"items is {items}.*{why}"):
        compiled(items=items)


def test_a_launch_with_another_size_is_refused():
    kernel, out = compiled(), torch.zeros(1, device="acme")
    for groups, items in ((1, 64), (1, (256, 2)), ((1, 2), 256)):
        with pytest.raises(ValueError, match="compiled for groups of 256 items in one dimension"):
            kernel(groups, items, (ctypes.c_int64(1), out))


def test_a_number_of_another_width_is_refused_with_advice():
    kernel, out = compiled(), torch.zeros(1, device="acme")
    with pytest.raises(RuntimeError, match=r"8 bytes.*gives 4.*pass ctypes.c_int64\(n\)"):
        kernel(1, kernel.items, (1, out))


def test_a_source_without_the_header_is_refused():
    with pytest.raises(ValueError, match=r'no line #include "outback/dialect\.h"'):
        compiled("KERNEL(group_size, GLOBAL f32* out) {}")


def test_items_are_for_the_dialect():
    with pytest.raises(ValueError, match='items is for language="dialect"'):
        torch.acme.compile_kernel(b"?", "name", items=64)


def test_special_functions():
    x = torch.linspace(0.5, 20, 50)
    out, psi = torch.zeros(50, device="acme"), compiled(name="psi")
    psi(1, psi.items, (ctypes.c_int64(50), out, x.acme()))
    torch.testing.assert_close(out.cpu(), torch.digamma(x))


def test_several_kernels_share_a_module():
    kernels = compiled(name=["group_size", "psi"])
    assert [kernel.name for kernel in kernels] == ["group_size", "psi"]
    with pytest.raises(RuntimeError, match='no kernel "missing"'):
        compiled(name=["group_size", "missing"])


def test_the_compilers_words_have_the_line():
    broken = SOURCE.replace("out[i] = LSIZE", "out[i] = missing_word")
    line = broken[: broken.index("missing_word")].count("\n") + 1
    with pytest.raises(RuntimeError, match=rf"(?s)refuses the kernel:.*:{line}:.*missing_word"):
        compiled(broken)


@pytest.mark.parametrize(
    ("variable", "kind"),
    [("LOCAL(f32, x, 1 << 24);", "local"), ("PRIVATES(f32, x, 1 << 20);", "private")],
)
def test_too_much_memory_of_a_group_is_refused(variable, kind):
    source = f"{SOURCE}KERNEL(big, GLOBAL f32* out) {{ {variable} ONE {{ out[0] = 1; }} }}\n"
    with pytest.raises(RuntimeError, match=f"too much {kind} memory"):
        compiled(source, "big")


def test_a_kernel_may_have_no_parameters():
    kernel = compiled(f"{SOURCE}KERNEL(idle) {{ ITEMS {{}} }}\n", "idle")
    kernel(1, kernel.items, ())
    torch.acme.synchronize()
    assert kernel.argument_count == 0


@pytest.mark.parametrize(
    "include",
    [
        '#include"outback/dialect.h"',
        "#include <outback/dialect.h>",
        '\t#\tinclude\t"outback/dialect.h"// the words',
        '#include "outback/dialect.h" /* a comment\nthat goes on */',
        '\ufeff#include "outback/dialect.h"',
        '#include "outback/dialect.h"\r\n#include "outback/dialect.h"\r\n// twice',
        '#include "outback/dialect.h"\n// \f \v \x1c \x85 \u2028 end no line',
    ],
)
def test_ways_to_write_an_include(include):
    source = f"{include}\nKERNEL(group_size, i64 n, GLOBAL f32* out) {{ out[0] = LSIZE; }}\n"
    assert group_size(compiled(source)) == 256
    line = source.replace("\r\n", "\n").count("\n") + 1
    with pytest.raises(RuntimeError, match=f"kernel:{line}:.*\n?.*missing_word"):
        compiled(f"{source}i32 x = missing_word;\n")


def test_lines_above_the_include_have_their_numbers():
    with pytest.raises(RuntimeError, match=r"kernel:1:.*missing_word"):
        compiled(f"int x = missing_word;{SOURCE}")


def test_a_collective_is_one_statement():
    source = """
#include "outback/dialect.h"
KERNEL(sum_if, i64 n, GLOBAL f32* out) {
  LOCAL(f32, buffer, LSIZE);
  ITEMS { buffer[LID] = 1; }
  if (n > 3) GROUP_SUM(buffer) else GROUP_MAX(buffer)
  if (n > 4) GROUP_SUM(buffer)
  ONE { out[0] = buffer[0]; }
}
"""
    sum_if, out = compiled(source, "sum_if", items=64), torch.zeros(1, device="acme")
    for n, result in ((4, 64), (3, 1)):
        sum_if(1, 64, (ctypes.c_int64(n), out))
        assert out.item() == result


@pytest.mark.parametrize("way", ["", "#define OUTBACK_DIALECT_FIBERS\n"], ids=["loops", "fibers"])
@pytest.mark.parametrize("special", [None, float("nan"), float("inf"), 0.0], ids=str)
def test_every_collective(way, special):
    buffers = ["sum", "prod", "most", "least", "any", "all"]
    collectives = zip(buffers, ["SUM", "PROD", "MAX", "MIN", "ANY", "ALL"], strict=True)
    source = f"""{way}
#include "outback/dialect.h"
KERNEL(fold, GLOBAL f32* out, const GLOBAL f32* in) {{
  {"".join(f"LOCAL(f32, of_{each}, LSIZE); " for each in buffers)}
  LOCAL(f32, high, LSIZE); LOCAL(f32, low, LSIZE);
  LOCAL(i32, high_at, LSIZE); LOCAL(i32, low_at, LSIZE);
  ITEMS {{
    {"".join(f"of_{each}[LID] = in[LID]; " for each in buffers)}
    high[LID] = low[LID] = in[LID];
    high_at[LID] = low_at[LID] = LID;
  }}
  {"".join(f"GROUP_{name}(of_{each}) " for each, name in collectives)}
  GROUP_ARGMAX(high, high_at)
  GROUP_ARGMIN(low, low_at)
  ONE {{
    {"".join(f"out[{i}] = of_{each}[0]; " for i, each in enumerate(buffers))}
    out[6] = high_at[0]; out[7] = low_at[0];
  }}
}}
"""
    x = torch.linspace(0.9, 1.1, 64)
    if special is not None:
        x[7] = x[9] = special
    fold, out = compiled(source, "fold", items=64), torch.zeros(8, device="acme")
    fold(1, 64, (out, x.acme()))
    found = [x.sum(), x.prod(), x.amax(), x.amin(), x.any(), x.all()]
    places = [7, 7] if special != special else [x.tolist().index(each) for each in (max(x), min(x))]
    expected = torch.tensor([*map(float, found), *map(float, places)])
    torch.testing.assert_close(out.cpu(), expected, equal_nan=True)


def test_an_item_of_each_knows_its_number():
    source = """
#include "outback/dialect.h"
KERNEL(sum, i64 n, GLOBAL i64* out) {
  LOCAL(i64, buffer, LSIZE);
  PRIVATE(i64, count);
  ITEMS { buffer[LID] = 0; OWN(count) = 0; }
  EACH(i, n) { buffer[LID] += i; OWN(count) += 1; }
  BARRIER;
  ITEMS { out[GROUP * LSIZE + LID] = OWN(count); }
  GROUP_SUM(buffer)
  ONE { out[GROUP * LSIZE] = buffer[0]; }
}
"""
    for text in (source, f"#define OUTBACK_DIALECT_FIBERS\n{source}"):
        kernel = compiled(text, "sum", items=64)
        out = torch.zeros(2, 64, dtype=torch.int64, device="acme")
        kernel(2, 64, (ctypes.c_int64(200), out))
        assert out[:, 0].sum().item() == sum(range(200))
        assert out[0, 1:].tolist() == [2] * 63
        assert out[1, 1:].tolist() == [2] * 7 + [1] * 56


@pytest.mark.parametrize("word", ["value", "other", "count", "end", "lid", "group", "half"])
def test_a_private_variable_may_have_any_name(word):
    source = """
#include "outback/dialect.h"
KERNEL(mean, i64 n, GLOBAL f32* out) {
  LOCAL(f32, means, LSIZE); LOCAL(f32, m2, LSIZE); LOCAL(f32, counts, LSIZE);
  LOCAL(f32, tops, LSIZE); LOCAL(f32, totals, LSIZE);
  PRIVATE(f32, WORD);
  ITEMS {
    OWN(WORD) = LID;
    means[LID] = m2[LID] = counts[LID] = totals[LID] = 0;
    tops[LID] = -INF;
    WELFORD_ADD(f32, means[LID], m2[LID], counts[LID], OWN(WORD))
    SOFTMAX_ADD(f32, tops[LID], totals[LID], OWN(WORD))
  }
  GROUP_WELFORD(f32, means, m2, counts)
  GROUP_SOFTMAX(f32, tops, totals)
  EACH(i, n) { OWN(WORD) += 1; }
  ITEMS_BELOW(1) { out[GROUP] = OWN(WORD); out[1] = means[0]; out[2] = tops[0]; }
}
"""
    mean, out = compiled(source.replace("WORD", word), "mean", items=64), torch.zeros(3).acme()
    mean(1, 64, (ctypes.c_int64(65), out))
    assert out.tolist() == [2, 31.5, 63]


def test_a_number_for_a_pointer_is_refused():
    kernel, out = compiled(), torch.zeros(1, device="acme")
    with pytest.raises(RuntimeError, match=r"argument 1 .* is a pointer to memory"):
        kernel(1, kernel.items, (ctypes.c_int64(1), ctypes.c_int64(1)))
    with pytest.raises(RuntimeError, match=r"argument 0 .* is a number"):
        kernel(1, kernel.items, (out, out))


def test_code_that_the_system_keeps_is_not_taken_for_other_code():
    # The fibers are a variable of the stream's thread, which lives on.
    fibers = compiled(FIBERS, items=64)
    assert group_size(fibers) == 64
    del fibers
    gc.collect()
    assert group_size(compiled()) == 256


def test_a_barrier_that_not_all_items_get_to_is_a_fault(capfd):
    source = FIBERS + "KERNEL(bad, GLOBAL f32* out) { ITEMS { if (LID < 3) { BARRIER; } } }\n"
    bad, out = compiled(source, "bad", items=64), torch.zeros(1, device="acme")
    bad(1, 64, (out,))
    with pytest.raises(torch.AcceleratorError, match="bad"):
        torch.acme.synchronize()
    assert "a BARRIER that not all items get to" in capfd.readouterr().err
    assert group_size(compiled(FIBERS, items=64)) == 64


# ---- The cache


def test_a_compiled_kernel_is_kept(cache, monkeypatch):
    compiled()
    (entry,) = cache.iterdir()
    assert len(entry.name) == 64
    assert cache.stat().st_mode & 0o777 == 0o700
    compilers = sys.modules["torch.acme._outback.kernels.compilers"]
    monkeypatch.setattr(compilers.HostCompiler, "compile", None)
    assert group_size(compiled()) == 256


def test_another_text_or_size_is_another_entry(cache):
    compiled()
    compiled(SOURCE + "\n")
    compiled(items=64)
    assert len([*cache.iterdir()]) == 3


@pytest.mark.parametrize("damage", ["cut off", "changed", "emptied"])
def test_a_damaged_entry_is_made_anew(cache, damage):
    compiled()
    (entry,) = cache.iterdir()
    whole = entry.read_bytes()
    changed = whole[:100] + bytes([whole[100] ^ 1]) + whole[101:]
    entry.write_bytes({"cut off": whole[:5000], "changed": changed, "emptied": b""}[damage])
    with pytest.warns(RuntimeWarning, match="was damaged, and is made anew"):
        kernel = compiled()
    assert group_size(kernel) == 256
    assert entry.read_bytes() == whole


def test_a_folder_that_others_can_write_is_not_used(cache):
    compiled()
    cache.chmod(0o777)
    before = {entry: entry.read_bytes() for entry in cache.iterdir()}
    with pytest.warns(RuntimeWarning, match="others may write there"):
        assert group_size(compiled(items=64)) == 64
    assert {entry: entry.read_bytes() for entry in cache.iterdir()} == before


def test_a_folder_that_is_a_link_is_not_used(cache, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    cache.symlink_to(tmp_path / "elsewhere")
    with (
        pytest.warns(RuntimeWarning, match="kernels are not read"),
        pytest.warns(RuntimeWarning, match="kernels are not kept"),
    ):
        assert group_size(compiled()) == 256
    assert not [*(tmp_path / "elsewhere").iterdir()]


def test_a_folder_that_nobody_can_write_is_read(cache, monkeypatch, recwarn):
    compiled()
    kept = sys.modules["torch.acme._outback.kernels.cache"]
    compilers = sys.modules["torch.acme._outback.kernels.compilers"]

    def read_only(*_, **__):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(kept.os, "utime", read_only)
    monkeypatch.setattr(compilers.HostCompiler, "compile", None)
    assert group_size(compiled()) == 256
    assert not recwarn.list


def test_a_user_without_a_home_keeps_nothing(monkeypatch):
    monkeypatch.delenv("OUTBACK_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    with pytest.warns(RuntimeWarning, match="this user has no home: OUTBACK_CACHE_DIR"):
        assert group_size(compiled()) == 256


def test_a_full_disk_costs_the_entry_only(cache, monkeypatch):
    compiled(items=64)
    kept = sys.modules["torch.acme._outback.kernels.cache"]

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kept.os, "replace", full)
    with pytest.warns(RuntimeWarning, match="are not kept in .*No space left on device"):
        assert group_size(compiled()) == 256
    assert len([*cache.iterdir()]) == 1


def test_the_cache_is_bounded(cache, monkeypatch):
    compiled(items=64)
    kept = sys.modules["torch.acme._outback.kernels.cache"]
    (first,) = cache.iterdir()
    monkeypatch.setattr(kept, "MOST_BYTES", 2 * first.stat().st_size + 100)
    os.utime(first, (0, 0))
    compiled(items=128)
    assert first.exists()
    compiled(items=256)
    assert not first.exists()
    assert len([*cache.iterdir()]) == 1


def test_processes_that_compile_the_same_at_once(cache):
    program = textwrap.dedent(
        f"""
        import ctypes, torch
        kernel = torch.acme.compile_kernel({SOURCE!r}, "group_size", language="dialect")
        out = torch.zeros(1, device="acme")
        kernel(1, kernel.items, (ctypes.c_int64(1), out))
        assert out.item() == 256
        """
    )
    running = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert len([*cache.iterdir()]) == 1


# ---- Compilers


def test_a_compiler_that_is_missing_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(RuntimeError, match=r"a C\+\+ compiler for the host .* was not found"):
        compiled()


def program(path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_cxx_may_have_arguments(cache, monkeypatch, tmp_path):
    log = tmp_path / "log"
    ccache = program(tmp_path / "ccache", f'echo "$@" >> {log}; exec "$@"')
    monkeypatch.setenv("CXX", f"{ccache} c++ -DLSIZE_OF_CXX=1")
    assert group_size(compiled()) == 256
    assert log.read_text().startswith("c++ -DLSIZE_OF_CXX=1")
    monkeypatch.setenv("CXX", f"{ccache} c++ -DLSIZE_OF_CXX=2")
    assert group_size(compiled()) == 256
    assert len([*cache.iterdir()]) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[ $1 = --version ] || kill -SEGV $$", "refuses the kernel:\nexit status -11"),
        ("exit 0", "made nothing:\nexit status 0"),
        ("echo its words; exit 3", "--version fails:\nits words"),
        (None, "does not run: .*Exec format error"),
    ],
)
def test_what_a_broken_compiler_does_is_told(monkeypatch, tmp_path, text, words):
    path = program(tmp_path / "compiler", str(text))
    if text is None:
        (tmp_path / "compiler").write_bytes(b"\x7fELF")
    monkeypatch.setenv("CXX", path)
    with pytest.raises(RuntimeError, match=f"compile_kernel: {path} {words}"):
        compiled()


def test_a_format_is_a_part_of_the_key(cache):
    compiled()
    kernels, made = sys.modules["torch.acme._outback.kernels"], []
    for number in (1998, 1999):
        torch.acme.register_kernel_compiler(
            number, lambda *_, number=number: str(number).encode(), words="", version="1"
        )
        target = kernels.Target([number], "", 256, True, True, True)
        made.append(kernels.module_of(SOURCE, None, target)[1])
    assert made == [b"1998", b"1999"]


def test_a_vendors_format_is_1000_or_more():
    with pytest.raises(ValueError, match="number is 6: expected a vendor's own format"):
        torch.acme.register_kernel_compiler(6, lambda text, target: b"", words="", version="1")


def test_the_dialect_is_text():
    with pytest.raises(TypeError, match="a source in the dialect is text"):
        compiled(b"bytes")


def test_the_headers_are_whole():
    compiled()
    headers = sys.modules["torch.acme._outback.kernels.headers"]
    names = {"dialect.h", "dialect/special.h", "dialect/generated.h"}
    assert set(headers.HEADERS) == {f"outback/{name}" for name in names}
    assert '#include "' not in "".join(headers.HEADERS.values())


# ---- While a project is built: cmake/make_kernels.py


def test_a_build_names_the_file_and_the_line(tmp_path):
    (tmp_path / "part.h").write_text("#pragma once\nDEVICE f32 two() { return 2; }\n")
    source = tmp_path / "own.k"
    source.write_text(
        '#include "outback/dialect.h"\n#include "part.h"\n'
        "KERNEL(own, GLOBAL f32* out) {\n  ONE { out[0] = two() + nonsense; }\n}\n"
    )
    script = Path(__file__).resolve().parents[3] / "cmake/make_kernels.py"
    done = subprocess.run(
        [sys.executable, script, "make", tmp_path / "made", "host", source],
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert f"{source}: " in done.stderr and "own.k:4:" in done.stderr
