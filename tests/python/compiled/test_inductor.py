"""torch.compile's default backend, Inductor: by the CPU's kernels in place, or by kernels in the
dialect where the CPU cannot address the device's memory."""

import shutil

import pytest
import torch

ADDRESSABLE = torch.acme.get_device_properties(0).is_host_addressable
pytestmark = [
    pytest.mark.any_runtime,
    pytest.mark.skipif(
        not (shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")),
        reason="Inductor needs a C++ compiler",
    ),
]
IS_PORTABLE = torch.acme._outback._native.runs_portable_kernels(0)
compiles = pytest.mark.skipif(
    not (ADDRESSABLE or IS_PORTABLE), reason="needs a device for which Inductor generates code"
)


@compiles
def test_a_network_trains(run_at_first_use):
    run_at_first_use(
        """
import copy
torch.manual_seed(0)
eager = torch.nn.Sequential(
    torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 2)
).acme()
module = copy.deepcopy(eager)
compiled = torch.compile(module, fullgraph=True)
x, y = torch.randn(32, 8, device="acme"), torch.randn(32, 2, device="acme")
losses = []
for net, call in ((eager, eager), (module, compiled)):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    losses.append([])
    for _ in range(4):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(call(x), y)
        loss.backward()
        optimizer.step()
        losses[-1].append(loss.item())
torch.testing.assert_close(losses[0], losses[1], rtol=1e-4, atol=1e-5)
assert losses[1][-1] < losses[1][0]
for a, b in zip(eager.parameters(), module.parameters()):
    torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
from torch._dynamo.utils import counters
assert counters["inductor"]["extern_calls"] > 0 and counters["stats"]["unique_graphs"] == 1
"""
    )


@compiles
def test_a_graph_stays_on_its_device(run_compiled, two_devices):
    run_compiled(
        """
@torch.compile(fullgraph=True)
def f(x):
    return (x.sin() + 1).sum(dim=0)

for device in ("acme:0", "acme:1"):
    x = torch.randn(16, 16, device=device)
    y = f(x)
    assert y.device == x.device, y.device
    torch.testing.assert_close(y.cpu(), (x.cpu().sin() + 1).sum(dim=0))
assert torch.acme.current_device() == 0
"""
    )


@compiles
def test_kernels_wait_for_the_work_before_them(run_compiled, real_streams):
    run_compiled(
        """
@torch.compile(fullgraph=True)
def f(x):
    return x.relu() + 1

x = torch.zeros(1 << 20, device="acme")
f(x)
full = torch.ones(1 << 20).pin_memory()
empty = torch.zeros(1 << 20).pin_memory()
for stream in (torch.acme.default_stream(), torch.acme.Stream()):
    with torch.acme.stream(stream):
        for _ in range(10):
            x.copy_(empty, non_blocking=True)
            x.copy_(full, non_blocking=True)
            y = f(x)
            assert y.sum().item() == 2 << 20
""",
        OUTBACK_HOST_ADVERSARIAL="1",
    )


@compiles
def test_random_numbers_follow_the_seed(run_compiled):
    run_compiled(
        """
@torch.compile(fullgraph=True)
def f(x):
    return torch.nn.functional.dropout(x, 0.5), torch.rand_like(x)

x = torch.ones(1000, device="acme")
torch.manual_seed(3)
a = f(x)
b = f(x)
torch.manual_seed(3)
c = f(x)
assert torch.equal(a[0], c[0]) and torch.equal(a[1], c[1]) and not torch.equal(a[1], b[1])
assert 300 < (a[0] == 0).sum().item() < 700
"""
    )


@compiles
@pytest.mark.parametrize("dynamic", [True, False])
def test_shapes_and_control_flow(run_compiled, dynamic):
    run_compiled(
        f"""
@torch.compile(fullgraph=True, dynamic={dynamic})
def f(x, y):
    z = torch.cat([x, y]).softmax(-1) @ y.t()
    return z.argmax(-1), z.cumsum(0)

for n in (3, 5):
    x, y = torch.randn(n, 4, device="acme"), torch.randn(2, 4, device="acme")
    indices, sums = f(x, y)
    z = torch.cat([x, y]).softmax(-1) @ y.t()
    torch.testing.assert_close(sums, z.cumsum(0))
    assert torch.equal(indices, z.argmax(-1)) and indices.device == x.device
"""
    )


@compiles
def test_the_host_and_the_device_meet_in_a_graph(run_compiled):
    run_compiled(
        """
@torch.compile(fullgraph=True)
def f(x, y):
    return (x + 1).acme() * y.sin(), y.cpu() + x

x, y = torch.randn(4), torch.randn(4, device="acme")
a, b = f(x, y)
assert a.is_acme and b.device.type == "cpu"
torch.testing.assert_close(a.cpu(), (x + 1) * y.cpu().sin())
torch.testing.assert_close(b, y.cpu() + x)
"""
    )


@compiles
def test_a_compiled_optimizer(run_compiled):
    run_compiled(
        """
import logging
torch._logging.set_logs(dynamo=logging.ERROR)  # it warns of ranges for the profiler
parameters = [torch.nn.Parameter(torch.ones(4, device="acme")) for _ in range(3)]
optimizer = torch.optim.Adam(parameters, lr=0.1)
for p in parameters:
    p.grad = torch.ones_like(p)
step = torch.compile(optimizer.step)
step()
for p in parameters:
    torch.testing.assert_close(p.detach().cpu(), torch.full((4,), 0.9))
"""
    )


@compiles
def test_a_vendors_own_generator_is_kept(run_at_first_use):
    run_at_first_use(
        """
from torch._inductor.codegen import common
class Mine: ...
common.register_backend_for_device("acme", Mine, Mine)
import torch._inductor.codegen.cpp
common.init_backend_registration()
assert common.get_scheduling_for_device("acme") is Mine
"""
    )


def test_a_vendors_function_registers_its_generator(run_at_first_use):
    run_at_first_use(
        """
class Mine: ...
def init():
    from torch._inductor.codegen import common
    common.register_backend_for_device("acme", Mine, Mine)
torch.acme._inductor_backend_init = init
import torch._inductor.compile_fx
from torch._inductor.codegen import common
common.init_backend_registration()
assert common.get_scheduling_for_device("acme") is Mine
"""
    )


ELSEWHERE = """
import warnings
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(3, 2)

    def forward(self, x):
        there = torch.arange(3.0, device=x.device) + 1
        return self.inner(x * there).sin() + torch.rand(2, device=x.device)

torch.manual_seed(0)
net = Net().acme()
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("default")
    compiled = torch.compile(net, fullgraph=True, mode="max-autotune")
    results = []
    for call in (net, compiled):
        for dynamic in (4, 5):
            torch.manual_seed(1)
            x = torch.ones(dynamic, 3, device="acme", requires_grad=True)
            y = call(x)
            y.sum().backward()
            results.append((y.detach(), x.grad))
    made_inside = torch.compile(lambda: torch.ones(3, device="acme") + 1)()
told = [str(each.message) for each in warned if "Inductor" in str(each.message)]
assert len(told) == 1 and "runs operator by operator" in told[0], told
for run, compiled in zip(results[:2], results[2:]):
    for mine, theirs in zip(run, compiled):
        assert torch.equal(mine, theirs)
assert made_inside.tolist() == [2, 2, 2]

def there(x):
    return (x.acme() * 2).cpu()

for inside in (  # the device is in a graph within the graph alone
    lambda x: torch.cond(x.sum() > 0, there, lambda x: x - 1, (x,)),
    lambda x: torch.utils.checkpoint.checkpoint(there, x, use_reentrant=False),
):
    assert torch.compile(inside, fullgraph=True)(torch.ones(3)).tolist() == [2, 2, 2]
assert torch.compile(lambda x: x.sin() + 1)(torch.ones(3)).device.type == "cpu"  # Inductor's

program = torch.export.export(torch.nn.ReLU(), (torch.ones(3, device="acme"),))
try:
    torch._inductor.aoti_compile_and_package(program)
except Exception as refused:
    assert "call torch.compile instead of AOTInductor" in str(refused), refused
else:
    raise AssertionError("AOTInductor has compiled it")

from torch._inductor.codegen import common
class Mine: ...
common.register_backend_for_device("acme", Mine, Mine)
try:
    torch.compile(lambda x: x.cos() + 1)(torch.ones(3, device="acme"))
except Exception as reached:
    assert "type object 'Mine' has no attribute" in str(reached), reached
else:
    raise AssertionError("the vendor's generator is not asked")
"""


@pytest.mark.turns_on_memory
@pytest.mark.skipif(ADDRESSABLE or IS_PORTABLE, reason="Inductor generates code for this device")
def test_elsewhere_operators_run_one_by_one(run_at_first_use):
    run_at_first_use(ELSEWHERE)


@compiles
def test_code_in_cpp_around_the_kernels_is_refused(run_compiled):
    run_compiled(
        """
f = torch.compile(lambda x: x.sin() + 1, options={"cpp_wrapper": True})
program = torch.export.export(torch.nn.ReLU(), (torch.ones(3, device="acme"),))
for refused in (
    lambda: f(torch.ones(3, device="acme")),
    lambda: torch._inductor.aoti_compile_and_package(program),
):
    try:
        refused()
    except Exception as e:
        assert "acme: Inductor writes the code around the kernels in Python" in str(e), e
    else:
        raise AssertionError("compiled")
"""
    )


@pytest.mark.turns_on_memory
def test_code_from_another_process_is_checked():
    before = torch.acme._before_compiled_kernel
    if ADDRESSABLE:
        before(0)
        for absent in (torch.acme.device_count(), 256):
            with pytest.raises(torch.AcceleratorError):
                before(absent)
    else:
        with pytest.raises(NotImplementedError, match="cannot address"):
            before(0)


CHECKPOINT = """
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

def attend(x):
    return F.scaled_dot_product_attention(x, x, x, is_causal=True)

x = torch.randn(1, 2, 8, 8, device="acme", requires_grad=True)
torch.compile(lambda x: checkpoint(attend, x, use_reentrant=False))(x).square().sum().backward()
y = x.detach().requires_grad_()
attend(y).square().sum().backward()
torch.testing.assert_close(x.grad, y.grad)
"""


@compiles
@pytest.mark.skipif(
    torch.__version__ < "2.13",
    reason="needs torch 2.13, which passes any device's generator to a compiled graph",
)
def test_attention_runs_again_in_the_backward_pass(run_compiled):
    """It is among the operators that may draw random numbers, and gets the device's generator."""
    run_compiled(CHECKPOINT)


@compiles
@pytest.mark.skipif(
    torch.__version__ < "2.13", reason="needs torch 2.13, whose Inductor knows streams"
)
def test_a_stream_is_entered_in_generated_code(run_compiled):
    run_compiled(
        """
def double_elsewhere(x):
    here, there = torch.accelerator.current_stream(), torch.Stream(device="acme")
    there.wait_stream(here)
    with there:
        y = x.sin() * 2
    here.wait_event(there.record_event())
    return y + 1

x = torch.randn(5, device="acme")
torch.testing.assert_close(torch.compile(double_elsewhere)(x), x.sin() * 2 + 1)
"""
    )


@compiles
def test_numbers_from_the_cpu(run_compiled):
    """CPU tensors without dimensions, beside tensors of the device and first among the operands."""
    run_compiled(
        """
import math
x, y, z = torch.arange(9.0), torch.tensor(3.0), torch.randn(100)
for f in (
    lambda x, y, z: y * x + y.sin() * x,
    lambda x, y, z: torch.tensor(2.5) * x + torch.maximum(y, x),
    lambda x, y, z: y * x.sum() + y,
    lambda x, y, z: x * z.mean(),
    lambda x, y, z: torch.where(x > 1, z[2], x) * z[1].sin(),
    lambda x, y, z: x.lerp(x * 2, z.double()[1].float()) + (z[0] + z[1]) * y,
    lambda x, y, z: x + math.log2(x.shape[0]),
):
    found = torch.compile(f, fullgraph=True, dynamic=True)(x.acme(), y, z)
    torch.testing.assert_close(found.cpu(), f(x, y, z))
"""
    )


@compiles
def test_numbers_on_the_cpu_that_change(run_compiled):
    """NAdam keeps one on each side, once its learning rate has changed."""
    run_compiled(
        """
def train(device, compiled):
    p = torch.nn.Parameter(torch.ones(3, device=device))
    optimizer = torch.optim.NAdam([p], lr=0.1)
    step = torch.compile(optimizer.step) if compiled else optimizer.step
    for _ in range(3):
        p.grad = torch.ones(3, device=device)
        step()
        optimizer.param_groups[0]["lr"] *= 0.8
    return p.detach().cpu()

torch.testing.assert_close(train("acme", True), train("cpu", False))
""",
        TORCH_LOGS="-all",  # of record_function, which torch's own step has
    )


@compiles
def test_a_division_by_a_number_is_a_division(run_compiled):
    run_compiled(
        """
x = torch.randn(64, 64)
found = torch.compile(lambda x: (x / 127.5, x.abs().amax(1) / 3))(x.acme())
assert found[0].cpu().equal(x / 127.5) and found[1].cpu().equal(x.abs().amax(1) / 3)
"""
    )


@compiles
def test_floats_of_8_bits(run_compiled):
    """Of a kind that kernels in the dialect lack."""
    run_compiled(
        """
x = torch.tensor([0.5, 3.3, -100.0])
for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
    f = lambda x: (x.to(dtype).float() * 2, x.to(dtype).float().sum())
    for a, b in zip(torch.compile(f)(x.acme()), f(x), strict=True):
        torch.testing.assert_close(a.cpu(), b)
"""
    )


@compiles
def test_places_and_whole_numbers(run_compiled):
    """The place of a largest value in transposed memory, an index that a reduction has made, and
    whole numbers beyond 32 bits made of indices that fit in them."""
    run_compiled(
        """
x, zeros = torch.arange(15.0).view(3, 5).flip(0), torch.zeros(3, dtype=torch.int64)
images = torch.randn(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
for f, given in (
    (lambda x: (x.t().argmax(), x.t().argmin(), x.t().max(1)[1]), x),
    (lambda x: (x.argmax(), x.permute(2, 0, 1, 3).argmin()), images),
    (lambda x: (x.gather(1, x.argmax(-1, keepdim=True)) * 2,), torch.randn(40, 45)),
    (lambda x: (torch.arange(70000, device=x.device)[:, None] * 70000 + x,), zeros),
    (lambda x: (torch.arange(2**31 - 5, 2**31 + 5, device=x.device) + x[:1],), zeros),
):
    found = torch.compile(f, fullgraph=True)(given.acme())
    for a, b in zip(found, f(given), strict=True):
        torch.testing.assert_close(a.cpu(), b)
"""
    )
