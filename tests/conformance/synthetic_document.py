"""Result documents that no run has made: of each verdict, of a whole run's size, and hostile."""

from __future__ import annotations

import collections
import random

DTYPES = [
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "complex64",
    "complex128",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
]
PHASES = ["forward", "backward", "out", "noncontiguous"]
STARTS = [
    "linalg",
    "nn.functional",
    "fft",
    "special",
    "_refs",
    "signal",
    "sparse",
    "masked",
    "torch",
]
ENDS = [
    "add",
    "sub",
    "mul",
    "norm",
    "conv2d",
    "lu_solve",
    "softmax",
    "scatter",
    "gather",
    "index_put",
    "var_mean",
    "sort",
]

HOSTILE = (
    "</script><script>window.broken = true</script>",
    "<!-- <script> & \"quotes\" 'single' `ticks` {{ braces }} ${dollar}",
    "<img src=x onerror='window.broken = true'>",
    "\u2028 line\u2029 separators, \x1b[31mred\x1b[0m, half a surrogate pair \udc80",
    "caf\u00e9, 漢字, עברית, \U0001f642",
)


def document(operators: int = 702, entries: int = 13_000, seed: int = 0) -> dict:
    """About `entries` entries: the samples of that many operators, and suites of checks."""
    chance = random.Random(seed)
    made = [
        entry for name, count, title in SUITES for entry in _checks(name, count, chance) if title
    ]
    made += _samples(operators, entries - len(made), chance)
    return of(made)


def of(entries: list[dict], **others: object) -> dict:
    """A document of these entries, with totals and scores that are theirs."""
    by_suite = collections.defaultdict(list)
    for entry in entries:
        by_suite[entry["suite"]].append(entry)
    titles = {name: title for name, _, title in SUITES}
    return {
        "schema": 1,
        "device": "acme",
        "level": "standard",
        "complete": True,
        "started": "2026-11-25T19:00:00+00:00",
        "seconds": 641.26,
        "versions": {
            "outback": "0.9.0",
            "torch": "2.13.0+cpu",
            "python": "3.11.7",
            "torch_acme": "1.4.2",
        },
        "environment": {"OUTBACK_HOST_PROTECTED": "1", "OUTBACK_LOG": "<warn>"},
        "machine": "Linux x86_64, 2 CPUs",
        "settings": {
            "suites": list(by_suite),
            "filter": "",
            "dtypes": ["float32", "bfloat16"],
            "samples": 3,
            "seed": 0,
            "jobs": 2,
        },
        "sampled": "702 operators of 702, 3 samples each, in 12 dtypes; 60 operators compiled.",
        "totals": _totals(entries),
        "suites": [
            {
                "name": name,
                "title": titles.get(name, ""),
                "totals": _totals(those),
                "score": _score(_totals(those)),
            }
            for name, those in by_suite.items()
        ],
        "entries": entries,
        **others,
    }


SUITES = [
    ("registration", 24, "The device type, its names and its module"),
    ("device_module", 96, "What torch.<device> has, by what asks for it"),
    ("accelerator", 31, "torch.accelerator drives the device"),
    ("streams", 40, "Work is ordered by streams, and only by them"),
    ("events", 28, "Events record, wait and measure"),
    ("memory", 61, "The allocator and its statistics"),
    ("rng", 33, "Generators and their state"),
    ("autocast", 22, "autocast and GradScaler"),
    ("views", 180, "A result keeps its memory, whatever looks at it"),
    ("dlpack", 26, "Exchange by DLPack"),
    ("graphs", 38, "Capture and replay"),
    ("profiler", 19, "The profiler sees the device"),
    ("compile", 130, "torch.compile on the device"),
    ("quantized", 12, "Quantized tensors"),
    ("operators", 0, "PyTorch's samples of each operator"),
]


def _checks(suite: str, count: int, chance: random.Random) -> list[dict]:
    return [_check(suite, f"check_{number}_of_{suite}", chance) for number in range(count)]


def _check(suite: str, name: str, chance: random.Random) -> dict:
    entry = {"suite": suite, "name": name, "verdict": "pass", "seconds": 0.01}
    drawn = "unsupported" if suite in ("graphs", "quantized") else _drawn(chance, 0.93)
    if drawn != "pass":
        entry |= {
            "verdict": drawn,
            "promise": f"What {suite} promises holds on a stream other than the current one.",
            "called_by": "torch/nn/parallel/data_parallel.py: DataParallel.__init__",
            "without": "Data-parallel training cannot begin.",
            "tier": "required",
            **_words(drawn, suite, chance),
            "reproduction": f"import torch_acme\n\n# {name}\nassert torch.acme.{suite} < 3 & 1",
        }
    return entry


def _samples(operators: int, count: int, chance: random.Random) -> list[dict]:
    names = [f"{STARTS[n % 9]}.{ENDS[n % 12]}_{n}" for n in range(operators)]
    places = [(name, dtype, phase) for name in names for dtype in DTYPES for phase in PHASES]
    chance.shuffle(places)
    lacking = {name for name in names if chance.random() < 0.03}
    broken = {(name, dtype) for name in names for dtype in DTYPES if chance.random() < 0.008}
    return [
        _sample(name, dtype, phase, name in lacking, (name, dtype) in broken, chance)
        for name, dtype, phase in sorted(places[:count])
    ]


def _sample(
    name: str, dtype: str, phase: str, lacks: bool, broken: bool, chance: random.Random
) -> dict:
    entry = {"suite": "operators", "name": name, "dtype": dtype, "phase": phase, "verdict": "pass"}
    drawn = "unsupported" if lacks else _drawn(chance, 0.5 if broken else 0.997)
    if drawn != "pass":
        entry |= {
            "verdict": drawn,
            "promise": "The result on the device is the CPU's.",
            **_words(drawn, name, chance),
            "reproduction": f"import torch\nimport torch_acme\n\n"
            f'x = torch.randn(3, 5, dtype=torch.{dtype}, device="acme")\n'
            f"y = torch.{name}(x)\ntorch.testing.assert_close(y.cpu(), torch.{name}(x.cpu()))\n",
        }
    return entry


def _drawn(chance: random.Random, passing: float) -> str:
    if chance.random() < passing:
        return "pass"
    names = ("fail", "crash", "timeout", "unsupported", "expected", "skipped")
    return chance.choices(names, (4, 1, 1, 4, 2, 3))[0]


def _words(verdict: str, subject: str, chance: random.Random) -> dict:
    if verdict == "fail":
        return {
            "message": f"AssertionError: Tensor-likes are not close!\n\nMismatched elements: "
            f"{chance.randrange(1, 15)} / 15\nGreatest absolute difference: "
            f"{chance.random():.6f} at index (0, 1) (up to 1e-05 allowed)",
            "trace": "Traceback (most recent call last):\n"
            + "".join(f'  File "/somewhere/torch/testing/_{n}.py", line {n}\n' for n in range(9)),
        }
    return {
        "crash": {"message": f"ended by SIGSEGV (signal 11) in {subject}"},
        "timeout": {"message": "no answer within 20 s"},
        "unsupported": {"reason": "the runtime does not have the group of graphs (ob_graph_*)"},
        "expected": {"reason": "torch's own limit: <pytorch/pytorch#123456> & others"},
        "skipped": {"reason": "needs two devices, there is one"},
    }[verdict]


def _totals(entries: list[dict]) -> dict[str, int]:
    found = collections.Counter(entry["verdict"] for entry in entries)
    names = ("pass", "fail", "crash", "timeout", "unsupported", "expected", "skipped")
    return {name: found[name] for name in names}


def _score(totals: dict[str, int]) -> float | None:
    counting = sum(totals[n] for n in ("pass", "fail", "crash", "timeout", "expected"))
    return 100 * totals["pass"] / counting if counting else None
