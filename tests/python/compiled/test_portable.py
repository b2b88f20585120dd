"""What Inductor generates for kernels in the dialect, beside the operators' values: how it is
compiled and kept, its errors, and programs around it."""

import shlex
import shutil

import pytest

from .conftest import needs_portable_kernels

pytestmark = [pytest.mark.turns_on_kernels, needs_portable_kernels]

ADD = """
x = torch.arange(6.0, device="acme")
print(torch.compile(lambda x: x.sin() + 1)(x).tolist() == (x.cpu().sin() + 1).tolist())
"""


def test_a_warm_start_compiles_nothing(run_compiled, tmp_path):
    """In another process, with Inductor's folder."""
    log = tmp_path / "log"
    compiler = tmp_path / "compiler"
    log.write_text("")
    program = shutil.which("c++")
    compiler.write_text(
        "#!/bin/sh\n"
        f'case "$1" in --version) ;; *) echo "$@" >> {shlex.quote(str(log))} ;; esac\n'
        f'exec {program} "$@"\n'
    )
    compiler.chmod(0o755)
    where = {"CXX": str(compiler), "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "inductor")}
    assert run_compiled(ADD, **where).output == "True"
    assert log.read_text().count("kernel.cpp") == 1
    assert run_compiled(ADD, **where).output == "True"
    assert log.read_text().count("kernel.cpp") == 1
    assert list((tmp_path / "inductor/outback").iterdir())


def test_an_error_of_the_compiler_shows_the_kernel(run_compiled, tmp_path):
    compiler = tmp_path / "compiler"
    compiler.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && exec echo 1\necho "this is no kernel" >&2\nexit 1\n'
    )
    compiler.chmod(0o755)
    said = run_compiled(
        ADD, check=False, CXX=str(compiler), TORCHINDUCTOR_CACHE_DIR=str(tmp_path / "inductor")
    ).errors
    assert "torch.compile has generated a kernel that this device's compiler refuses" in said
    assert "this is no kernel" in said
    assert "TORCH_COMPILE_DEBUG=1" in said and "KERNEL(fused_add_sin" in said


def test_without_a_compiler_operators_run_one_by_one(run_compiled, tmp_path):
    said = run_compiled(
        """
import warnings
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    for _ in range(2):
        print(torch.compile(lambda x: x.relu() + 1)(torch.ones(3, device="acme")).tolist())
print([str(each.message) for each in warned if "operator by operator" in str(each.message)])
""",
        CXX="",
        PATH=str(tmp_path),
    ).output.splitlines()
    assert said[0] == said[1] == "[2.0, 2.0, 2.0]"
    assert said[2].count("operator by operator") == 1
    assert "a C++ compiler for the host (CXX, or c++, g++ or clang++) was not found" in said[2]


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("torch.compile(lambda x, i: x[i])(x, i + 10)", "an index is out of range"),
        ("torch.compile(lambda x, i: x.index_put((i + 10,), x))(x, i)", "an index is out of range"),
        (
            "torch.compile(lambda x: torch._assert_async(x.sum() > 100, 'too small'))(x)",
            "an assertion failed on the device",
        ),
    ],
)
def test_the_host_hears_of_faults(run_compiled, program, words):
    run_compiled(
        f"""
x, i = torch.arange(6.0, device="acme"), torch.arange(6, device="acme")
for _ in range(2):
    {program}
    try:
        torch.acme.synchronize()
    except torch.AcceleratorError as error:
        assert "torch.compile: {words}" in str(error), error
    else:
        raise AssertionError("nothing was said")
assert torch.compile(lambda x: x + 1)(x).tolist() == [1, 2, 3, 4, 5, 6]
"""
    )


def test_sizes_and_numbers_are_arguments(run_compiled):
    """No second compilation for another batch, factor or learning rate."""
    run_compiled(
        """
import logging
from torch._dynamo.utils import counters
torch._logging.set_logs(dynamo=logging.ERROR)  # it warns of ranges for the profiler
f = torch.compile(lambda x, y, a: (x + a * y).softmax(-1).sum(0), dynamic=True)
f(torch.ones(9, 40, device="acme"), torch.ones(9, 40, device="acme"), 1.5)  # a number at first
for n, a in ((11, 0.5), (12, 0.25), (70, 3.5)):
    x, y = torch.randn(n, 40, device="acme"), torch.randn(n, 40, device="acme")
    wanted = (x.cpu() + a * y.cpu()).softmax(-1).sum(0)
    torch.testing.assert_close(f(x, y, a).cpu(), wanted)
assert counters["stats"]["unique_graphs"] == 1, counters["stats"]
p = torch.nn.Parameter(torch.ones(4, device="acme"))
optimizer = torch.optim.SGD([p], lr=torch.tensor(0.5))
p.grad = torch.ones_like(p)
step = torch.compile(optimizer.step)
for rate in (0.5, 0.25, 0.125):
    optimizer.param_groups[0]["lr"].fill_(rate)
    step()
assert p.tolist() == [0.125] * 4, p
"""
    )


def test_long_rows_and_columns(run_compiled):
    """Sums of many values in two launches, transposed memory by tiles, scans by either."""
    run_compiled(
        """
torch.manual_seed(0)
x = torch.randn(1 << 18, dtype=torch.float32)
rows, columns = x.reshape(4, -1), x.reshape(-1, 32)
for f, given in (
    (lambda x: (x.sum(), x.amax(), x.var(), x.argmax(), x.softmax(0)), x),
    (lambda x: (x.sum(1), x.std(1), x.argmin(1), x.log_softmax(1)), rows),
    (lambda x: (x.sum(0), x.amin(0), x.prod(0), x.any(0), x.argmax(0)), columns),
    (lambda x: (x.t().contiguous() * 2, x.t() + x.reshape(32, -1)), columns),
    (lambda x: (x[:64].cumsum(0), x[:9].cumprod(1), x[:40].cummax(0)[1]), columns),
    (lambda x: (x.double().cumsum(0),), columns),
):
    found, wanted = torch.compile(f, fullgraph=True)(given.acme()), f(given)
    for a, b in zip(found, wanted):
        torch.testing.assert_close(a, b, check_device=False, rtol=1e-4, atol=1e-4)
"""
    )


def test_later_calls_are_replays_of_a_graph(run_compiled):
    """mode="reduce-overhead", in a training step. Results that live are not written over."""
    run_compiled(
        """
import copy, gc
of_cpu = torch.nn.Sequential(torch.nn.Linear(12, 12), torch.nn.GELU(), torch.nn.Linear(12, 3))
model = copy.deepcopy(of_cpu).acme()
compiled = torch.compile(model, mode="reduce-overhead")
optimizers = [torch.optim.SGD(each.parameters(), lr=0.1) for each in (of_cpu, model)]
kept = []
for i in range(7):
    x = torch.randn(5, 12)
    results = [of_cpu(x), compiled(x.acme())]
    torch.testing.assert_close(results[1].cpu(), results[0])
    kept += [results] if i == 4 else []
    for result, optimizer in zip(results, optimizers):
        result.square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
for here, there in kept:
    torch.testing.assert_close(there.cpu(), here)
replays = [each for each in gc.get_objects() if type(each).__name__ == "_Replayed"]
assert [each._recorded is not None for each in replays] == [True, True], replays
other = torch.acme.Stream()
other.wait_stream(torch.acme.current_stream())
with torch.no_grad(), torch.acme.stream(other):
    for _ in range(3):
        torch.testing.assert_close(compiled(x.acme()).cpu(), of_cpu(x))
import logging
logging.getLogger("torch._inductor.cudagraph_utils.__cudagraphs").setLevel(logging.ERROR)
changed = torch.compile(lambda x: x.add_(1), mode="reduce-overhead")
y = torch.zeros(4, device="acme")
for _ in range(4):
    changed(y)
assert y.tolist() == [4] * 4
"""
    )
