"""PyTorch's samples of operators under torch.compile(fullgraph=True) on the device, compared with
the CPU's answers; and what the generated code consists of.

    python operators.py --dtype float32 --jobs 2 results.jsonl [NAME ...]

writes a line for each operator, and prints how many came out how.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import dataclasses
import functools
import json
import re
import subprocess
import sys
import time
import types
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch.testing._internal import common_methods_invocations
from torch.utils._pytree import tree_leaves, tree_map_only

DEVICE = "acme"


@dataclasses.dataclass
class Outcome:
    """`kind` is right, wrong, error, cpu (the CPU's Inductor gives the same error, or the same
    wrong values) or skipped; `kernels` counts generated kernels; `fallbacks` are the operators that
    the generated code calls."""

    name: str
    dtype: str
    kind: str
    detail: str = ""
    kernels: int = 0
    fallbacks: list[str] = dataclasses.field(default_factory=list)


@contextlib.contextmanager
def generated_code() -> Iterator[list[str]]:
    """The Python that Inductor writes inside."""
    from torch._inductor.graph import GraphLowering

    codes: list[str] = []
    before = GraphLowering.__dict__.get("save_output_code")
    GraphLowering.save_output_code = staticmethod(codes.append)
    try:
        yield codes
    finally:
        GraphLowering.save_output_code = before


_FALLBACK = re.compile(r"(?:extern_kernels\.(\w+)|torch\.ops\.([\w.]+))\(")


def fallbacks_in(codes: list[str]) -> list[str]:
    called = (a or b for code in codes for a, b in _FALLBACK.findall(code))
    return sorted(set(called))


def _call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


# Operators whose further arguments are on the CPU for tensors of any device.
_ONLY_INPUT = ("tensor_split",)


def _copied(value: Any, device: str) -> Any:
    def copied(tensor: torch.Tensor) -> torch.Tensor:
        there = tensor.detach().to(device)
        there = there.clone() if there is tensor or device == "cpu" else there
        return there.requires_grad_(tensor.requires_grad)

    return tree_map_only(torch.Tensor, copied, value)


def _answer(
    function: Any, sample: Any, device: str, backward: bool, seed: int = 0
) -> list[torch.Tensor]:
    """The results and the gradients of the floating-point ones."""
    given, args, kwargs = _copied((sample.input, sample.args, sample.kwargs), device)
    if function.__name__ in _ONLY_INPUT:
        args = sample.args
    if "device" in kwargs:
        kwargs["device"] = device
    torch.manual_seed(seed)
    # Which seeds, and which Dynamo does not trace.
    with mock.patch.object(common_methods_invocations, "wrapper_set_seed", _call):
        results = function(given, *args, **kwargs)
    tensors = [each for each in tree_leaves(results) if isinstance(each, torch.Tensor)]
    answer = [each.detach() for each in tensors]
    inputs = [each for each in tree_leaves((given, args, kwargs)) if isinstance(each, torch.Tensor)]
    inputs = [each for each in inputs if each.requires_grad and each.is_leaf]
    outputs = [each for each in tensors if each.requires_grad]
    if backward and inputs and outputs:
        weights = [torch.linspace(0.5, 1, max(each.numel(), 1))[: each.numel()] for each in outputs]
        weights = [
            w.reshape(each.shape).to(each.device, each.dtype)
            for w, each in zip(weights, outputs, strict=True)
        ]
        grads = torch.autograd.grad(outputs, inputs, weights, allow_unused=True)
        answer += [each for each in grads if each is not None]
    return [each.to("cpu") for each in answer]


def _differs(
    found: list[torch.Tensor], wanted: list[torch.Tensor], only_shapes: bool = False
) -> str:
    if len(found) != len(wanted):
        return f"{len(found)} tensors in place of {len(wanted)}"
    for a, b in zip(found, wanted, strict=True):
        if only_shapes:
            if (a.shape, a.dtype) != (b.shape, b.dtype):
                return f"{a.dtype} {tuple(a.shape)} in place of {b.dtype} {tuple(b.shape)}"
            continue
        loose = {torch.bfloat16: 2e-2, torch.float16: 4e-3, torch.float32: 1e-4}.get(b.dtype)
        bounds = {} if loose is None else {"rtol": loose, "atol": loose}
        try:
            torch.testing.assert_close(a, b, equal_nan=True, check_stride=False, **bounds)
        except AssertionError as error:
            return str(error)
    return ""


def _is_as_precise(
    found: list[torch.Tensor], wanted: list[torch.Tensor], exact: Callable[[], list[torch.Tensor]]
) -> bool:
    """Whether `found` is about as near to the answer in float64 as the CPU's `wanted` is, where
    both are far from it."""
    try:
        truths = exact()
        for a, b, truth in zip(found, wanted, truths, strict=True):
            off, allowed = (a.double() - truth).abs().max(), (b.double() - truth).abs().max()
            if not off <= 4 * allowed:
                return False
    except Exception:
        return False
    return True


def _in_float64(sample: Any) -> Any:
    def widened(tensor: torch.Tensor) -> torch.Tensor:
        if not tensor.is_floating_point():
            return tensor
        return tensor.detach().double().requires_grad_(tensor.requires_grad)

    parts = (sample.input, sample.args, sample.kwargs)
    given, args, kwargs = tree_map_only(torch.Tensor, widened, parts)
    return types.SimpleNamespace(input=given, args=args, kwargs=kwargs)


def _short(error: BaseException) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {' | '.join(lines)[:1500]}"


def samples_of(entry: Any, dtype: torch.dtype, backward: bool, most: int) -> list[Any]:
    backward = backward and entry.supports_autograd
    found = []
    for sample in entry.sample_inputs("cpu", dtype, requires_grad=backward):
        found.append(sample)
        if len(found) == most:
            break
    return found


def name_of(entry: Any) -> str:
    """That of op_db, with the variant: "sum", "nn.functional.gelu", "var.unbiased"."""
    return ".".join(filter(None, (entry.name, entry.variant_test_name)))


def outcome_of(entry: Any, dtype: torch.dtype, *, backward: bool, most: int = 1) -> Outcome:
    name = name_of(entry)
    outcome = Outcome(name, str(dtype).removeprefix("torch."), "right")
    if dtype not in entry.supported_dtypes("cpu"):
        outcome.kind = "skipped"
        return outcome

    def function(given: Any, *args: Any, **kwargs: Any) -> Any:
        return entry.op(given, *args, **kwargs)

    function.__name__ = entry.name
    for sample in samples_of(entry, dtype, backward, most):
        try:
            wanted = _answer(function, sample, "cpu", backward)
            again = _answer(function, sample, "cpu", backward, seed=1)
        except Exception:
            continue
        # Random numbers, and memory that is not initialized.
        only_shapes = bool(_differs(again, wanted))
        exact = functools.partial(_answer, function, _in_float64(sample), "cpu", backward)

        def compare(found: list[torch.Tensor], wanted=wanted, only=only_shapes, exact=exact) -> str:
            said = _differs(found, wanted, only)
            return "" if said and _is_as_precise(found, wanted, exact) else said

        with generated_code() as codes:
            said = _compiled(function, sample, DEVICE, backward, compare)
        outcome.kernels += sum(code.count("running.kernel(") for code in codes)
        outcome.fallbacks = sorted({*outcome.fallbacks, *fallbacks_in(codes)})
        if said:
            theirs = _compiled(function, sample, "cpu", backward, compare)
            own = "wrong" if said.startswith("wrong") else "error"
            outcome.kind = "cpu" if theirs.split(":")[0] == said.split(":")[0] else own
            outcome.detail = said
            break
    return outcome


def _compiled(
    function: Any,
    sample: Any,
    device: str,
    backward: bool,
    compare: Callable[[list[torch.Tensor]], str],
) -> str:
    """What is wrong with the compiled answer; or nothing."""
    torch._dynamo.reset()
    try:
        found = _answer(torch.compile(function, fullgraph=True), sample, device, backward)
    except Exception as error:
        return _short(error)
    said = compare(found)
    return said and f"wrong: {said}"


# ---- All of them, in several processes


def _worker(names: list[str], dtype: str, backward: bool, out: Path) -> None:
    from torch._inductor import config

    config.fx_graph_cache = False
    torch._functorch.config.enable_autograd_cache = False
    by_name = {name_of(each): each for each in common_methods_invocations.op_db}
    with out.open("a") as file:
        for name in names:
            print(json.dumps({"begun": name}), file=file, flush=True)
            begun = time.monotonic()
            try:
                outcome = outcome_of(by_name[name], getattr(torch, dtype), backward=backward)
            except Exception as error:
                outcome = Outcome(name, dtype, "error", _short(error))
            line = dataclasses.asdict(outcome) | {"seconds": round(time.monotonic() - begun, 2)}
            print(json.dumps(line), file=file, flush=True)


def _run_all(names: list[str], dtype: str, backward: bool, out: Path, limit: float) -> None:
    """In processes of its own: after one that crashed or hangs comes the next operator."""
    while names:
        part = [sys.executable, __file__, "--worker", "--dtype", dtype]
        done = out.stat().st_size if out.exists() else 0
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run([*part, *["--backward"] * backward, str(out), *names], timeout=limit)
        with out.open() as file:
            file.seek(done)
            lines = [json.loads(line) for line in file]
        begun = [each["begun"] for each in lines if "begun" in each]
        finished = {each["name"] for each in lines if "name" in each}
        with out.open("a") as file:
            for name in begun:
                if name not in finished:
                    crash = dataclasses.asdict(Outcome(name, dtype, "crash"))
                    print(json.dumps(crash), file=file)
        names = names[max(len(begun), 1) :]


def summary(lines: list[dict[str, Any]]) -> str:
    kinds = collections.Counter(each["kind"] for each in lines)
    right = [each for each in lines if each["kind"] == "right"]
    alone = sum(bool(each["kernels"]) and not each["fallbacks"] for each in right)
    nothing = sum(not each["kernels"] and not each["fallbacks"] for each in right)
    return f"{dict(kinds)}; of the right ones {alone} kernels alone, {nothing} without any work"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--backward", action="store_true")
    parser.add_argument("--worker", action="store_true")
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    names = given.names or [name_of(each) for each in common_methods_invocations.op_db]
    if given.worker:
        _worker(names, given.dtype, given.backward, given.out)
        return
    parts = [Path(f"{given.out}.{job}") for job in range(given.jobs)]
    for part in parts:
        part.unlink(missing_ok=True)
    with ThreadPoolExecutor() as pool:
        chunk = 40
        slices = [names[job :: given.jobs] for job in range(given.jobs)]

        def run(job: int) -> None:
            mine = slices[job]
            for start in range(0, len(mine), chunk):
                some = mine[start : start + chunk]
                _run_all(some, given.dtype, given.backward, parts[job], 30.0 * chunk)

        list(pool.map(run, range(given.jobs)))
    parts = [part for part in parts if part.exists()]
    lines = [json.loads(line) for part in parts for line in part.read_text().splitlines()]
    lines = [each for each in lines if "name" in each]
    given.out.write_text("".join(json.dumps(each) + "\n" for each in lines))
    for part in parts:
        part.unlink()
    print(summary(lines))


if __name__ == "__main__":
    main()
