"""torch.compile: programs and operators on the device, over each compiler that there is."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import nn

from ..apart import need_device
from ..backend import Backend
from ..busy import streams_of
from ..check import Unsupported, check, variants
from .modes import OPERATORS, numbers

COMPILERS = ("eager", "aot_eager")


@contextlib.contextmanager
def fresh() -> Iterator[None]:
    """What was compiled before is forgotten, and what is compiled inside afterwards."""
    torch._dynamo.reset()
    try:
        yield
    finally:
        torch._dynamo.reset()


def need_inductor(backend: Backend) -> None:
    from torch._inductor.codegen.common import (
        get_scheduling_for_device,
        init_backend_registration,
    )

    init_backend_registration()
    if get_scheduling_for_device(backend.name) is None:
        raise Unsupported(f"no code generator of Inductor is registered for {backend.name}")


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x).log_softmax(-1)


def attends(x: torch.Tensor) -> torch.Tensor:
    q = x.reshape(1, 2, 2, 6)
    mask = torch.ones(2, 2, dtype=torch.bool, device=x.device).tril()
    return F.scaled_dot_product_attention(q, q, q, attn_mask=mask).sum(0) * x.mean()


def breaks(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    torch._dynamo.graph_break()
    z = y + torch.arange(6.0, device=y.device)
    return z.relu() if z.sum() > 0 else -z


PROGRAMS: dict[str, Callable[[torch.device], Callable[[torch.Tensor], torch.Tensor]]] = {
    "a module": lambda device: Net().to(device),
    "attention": lambda device: attends,
    "a break in the graph": lambda device: breaks,
}


def is_compiled_as_it_runs(
    backend: Backend,
    compiler: str,
    make: Callable[[torch.device], Callable[[torch.Tensor], torch.Tensor]],
) -> None:
    """What is compiled gives the results and the gradients of what is not, and is on the
    device."""
    if compiler == "inductor":
        need_inductor(backend)
    torch.manual_seed(0)
    function = make(backend.device)
    x = numbers().to(backend.device)
    parameters = list(function.parameters()) if isinstance(function, nn.Module) else []
    with fresh():
        compiled = torch.compile(function, backend=compiler)
        for shift in (0.0, 1.0):
            results = []
            for call in (function, compiled):
                leaf = (x + shift).requires_grad_()
                y = call(leaf)
                assert y.device == backend.device, f"the result is on {y.device}"
                weights = torch.arange(1.0, y.numel() + 1, device=y.device).reshape(y.shape)
                loss = (y * weights).sum()
                results.append((y.detach(), *torch.autograd.grad(loss, [leaf, *parameters])))
            torch.testing.assert_close(results[1], results[0])


programs = variants(
    check(
        called_by="torch/_dynamo/device_interface.py: get_interface_for_device",
        without="torch.compile fails on the device, or gives other results",
    )(is_compiled_as_it_runs),
    is_compiled_as_it_runs,
    {f"{c}: {name}": (c, make) for c in COMPILERS for name, make in PROGRAMS.items()},
)
inductor = variants(
    check(
        called_by="torch/_inductor/codegen/common.py: get_scheduling_for_device",
        without="torch.compile with its default compiler fails, or gives other results",
        level="standard",
    )(is_compiled_as_it_runs),
    is_compiled_as_it_runs,
    {f"inductor: {name}": ("inductor", make) for name, make in PROGRAMS.items()},
)


def operator_is_compiled(
    backend: Backend, operator: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    """An operator that is compiled gives the result and the gradient that it gives without."""
    is_compiled_as_it_runs(backend, "aot_eager", lambda device: operator)


operators = variants(
    check(
        called_by="torch/_functorch/aot_autograd.py: aot_module_simplified",
        without="torch.compile fails on the device, or gives other results",
        level="standard",
    )(operator_is_compiled),
    operator_is_compiled,
    {name: (OPERATORS[name],) for name in list(OPERATORS)[:60]},
)


@check(
    called_by="torch/_dynamo/device_interface.py: register_interface_for_device",
    without="torch.compile fails on every program of the device",
)
def dynamo_knows_the_device(backend: Backend) -> None:
    """Dynamo has an interface for the device, with and without an index, that speaks for it."""
    need_device(backend)
    from torch._dynamo.device_interface import DeviceInterface, get_interface_for_device

    try:
        interface = get_interface_for_device(backend.name)
    except NotImplementedError:
        raise Unsupported(f"no device interface is registered for {backend.name}") from None
    assert issubclass(interface, DeviceInterface)
    assert get_interface_for_device(str(backend.device)) is interface
    for name in ("is_available", "device_count", "current_device", "synchronize"):
        try:
            getattr(interface, name)()
        except NotImplementedError:  # which would say that there is no interface
            raise AssertionError(f"{interface.__name__} has no {name}()") from None
    assert interface.is_available() is True
    assert interface.device_count() == backend.count
    assert interface.current_device() == torch.accelerator.current_device_index()
    assert issubclass(interface.Stream, torch.Stream)
    assert issubclass(interface.Event, torch.Event)
    if backend.count > 1:
        with interface.device(backend.other_device.index):
            assert interface.current_device() == backend.other_device.index
        assert interface.current_device() == backend.device.index


@check(
    called_by="torch/fx/experimental/symbolic_shapes.py: ShapeEnv",
    without="each size of a batch is compiled anew, or computed wrongly",
)
def dynamic_shapes_are_compiled(backend: Backend) -> None:
    """A function compiled with dynamic=True gives the right results for each size."""
    with fresh():
        for compiler in COMPILERS:
            compiled = torch.compile(
                lambda x: (x @ x.t()).softmax(1).sum(0), backend=compiler, dynamic=True
            )
            for size in (2, 3, 7):
                x = torch.rand(size, 5, device=backend.device)
                torch.testing.assert_close(compiled(x), (x @ x.t()).softmax(1).sum(0))


@check(
    called_by="torch/_dynamo/variables/torch.py: TorchInGraphFunctionVariable",
    without="compiled programs ask for their device in vain",
)
def devices_are_known_inside(backend: Backend) -> None:
    """A compiled function makes tensors on the device, moves them, and asks for the device of
    arguments, without a break in the graph."""
    need_device(backend)
    device = backend.device

    def function(x: torch.Tensor) -> torch.Tensor:
        y = torch.ones(3, device=device) + torch.zeros(3, device=torch.device(device.type, 0))
        y = y.to(x.device)
        moved = x.to("cpu").to(device).to(x.device)
        return moved + y if x.device.type == device.type else x - y

    with fresh():
        for compiler in COMPILERS:
            compiled = torch.compile(function, backend=compiler, fullgraph=True)
            first = torch.device(backend.name, 0)
            for x in (torch.ones(3, device=first), torch.ones(3)):
                result = compiled(x)
                assert result.device == x.device
                assert torch.equal(result, function(x))


@check(
    called_by="torch/_dynamo/variables/ctx_manager.py: AutocastModeVariable",
    without="compiled programs compute in another precision than asked for",
)
def autocast_is_compiled(backend: Backend) -> None:
    """Autocast inside a compiled function, and around it, gives the dtype that it gives
    without."""
    try:
        with torch.autocast(backend.name, torch.bfloat16):
            pass
    except (AssertionError, RuntimeError) as error:
        raise Unsupported(f"there is no autocast: {error}") from error
    x = torch.rand(4, 4, device=backend.device)

    def inside(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast(backend.name, torch.bfloat16):
            return x @ x

    with fresh():
        for compiler in COMPILERS:
            compiled = torch.compile(inside, backend=compiler, fullgraph=True)(x)
            assert compiled.dtype == torch.bfloat16
            torch.testing.assert_close(compiled, inside(x))
            plain = torch.compile(lambda x: x @ x, backend=compiler, fullgraph=True)
            with torch.autocast(backend.name, torch.bfloat16):
                assert plain(x).dtype == torch.bfloat16
            assert plain(x).dtype == torch.float32


@check(
    called_by="torch/_functorch/_aot_autograd/graph_capture.py: aot_dispatch_autograd_graph",
    without="compiled dropout drops the same elements in each step, or other ones in backward",
)
def random_numbers_are_compiled(backend: Backend) -> None:
    """A compiled function draws new numbers at each call, the same after the same seed, and its
    dropout has one mask for forward and backward."""

    def function(x: torch.Tensor) -> torch.Tensor:
        return F.dropout(x, 0.5, training=True) + torch.rand(64, device=x.device) * 0

    with fresh():
        for compiler in COMPILERS:
            compiled = torch.compile(function, backend=compiler)
            x = torch.ones(64, device=backend.device, requires_grad=True)
            compiled(x)
            runs = []
            for _ in range(2):
                torch.manual_seed(5)
                runs.append([compiled(x) for _ in range(2)])
            assert torch.equal(runs[0][0], runs[1][0]), "one seed gave two masks"
            assert not torch.equal(runs[0][0], runs[0][1]), "two calls had one mask"
            (gradient,) = torch.autograd.grad(runs[0][0].sum(), x)
            assert torch.equal(gradient, runs[0][0]), "backward has another mask than forward"


@check(
    called_by="torch/_dynamo/variables/streams.py: StreamVariable",
    without="programs that use streams cannot be compiled",
)
def streams_are_entered_in_compiled_code(backend: Backend) -> None:
    """A compiled function may enter a stream and record and wait for events, and leaves the stream
    that was current before."""
    need_device(backend)
    # What the order inside is, is a code generator's: Dynamo only notes the stream.
    (stream,) = streams_of(backend, 1)
    event = torch.Event(backend.device)
    before = torch.accelerator.current_stream()

    def function(x: torch.Tensor) -> torch.Tensor:
        with stream:
            y = x + 1
            event.record()
        event.wait()
        return y * 2

    with fresh():
        compiled = torch.compile(function, backend="eager")
        for value in (1.0, 2.0):
            x = torch.full((100,), value, device=backend.device)
            torch.accelerator.synchronize()
            y = compiled(x)
            torch.accelerator.synchronize()
            assert y.eq(2 * value + 2).all()
            assert torch.accelerator.current_stream() == before, "the stream was left entered"


@check(
    called_by="torch/_dynamo/resume_execution.py: ContinueExecutionCache",
    without="programs lose their streams and events where the compiler gives up",
)
def streams_and_events_outlive_a_break(backend: Backend) -> None:
    """A stream and an event of the device module that were made in a compiled function before its
    graph breaks can be used after it, by all that programs call on them."""
    need_device(backend)
    make_stream, make_event = backend.need("Stream"), backend.need("Event")

    def function(x: torch.Tensor) -> torch.Tensor:
        stream, event, end = make_stream(), make_event(), make_event()
        x = x + 1
        torch._dynamo.graph_break()
        event.record()
        stream.wait_event(event)
        with torch.accelerator.device_index(x.device.index):
            y = x * 2
        event.wait(stream)
        end.record(stream)
        end.synchronize()
        stream.synchronize()
        assert stream.query() and end.query()
        assert stream.device == x.device
        return y

    with fresh():
        compiled = torch.compile(function, backend="eager")
        for value in (1.0, 2.0):
            y = compiled(torch.full((100,), value, device=backend.device))
            assert y.eq(2 * value + 2).all()


@check(
    called_by="torch/_dynamo/variables/user_defined.py: UserDefinedObjectVariable",
    without="a training step cannot be compiled",
    level="standard",
)
def a_compiled_module_trains(backend: Backend) -> None:
    """Steps of a compiled module and its optimizer end in the parameters of steps without."""
    results = []
    data = [numbers() + step for step in range(3)]
    for compiler in (None, *COMPILERS):
        torch.manual_seed(0)
        net = Net().to(backend.device)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        with fresh():
            call = torch.compile(net, backend=compiler) if compiler else net
            for x in data:
                optimizer.zero_grad()
                F.nll_loss(
                    call(x.to(backend.device)), torch.arange(4, device=backend.device) % 3
                ).backward()
                optimizer.step()
        results.append([p.detach().cpu() for p in net.parameters()])
    for compiled in results[1:]:
        torch.testing.assert_close(compiled, results[0])


@check(
    called_by="torch/_dynamo/backends/registry.py: register_backend",
    without="errors of a program are lost when it is compiled",
)
def errors_are_the_programs_own(backend: Backend) -> None:
    """A compiled function that mixes devices raises an error as the function itself does, and the
    next call works."""
    need_device(backend)
    with fresh():
        compiled = torch.compile(lambda x, y: x + y, backend="aot_eager")
        x = torch.ones(3, device=backend.device)
        try:
            compiled(x, torch.ones(3))
        except RuntimeError as error:
            assert "device" in str(error).lower(), error
        else:
            raise AssertionError("tensors of two devices were added")
        assert compiled(x, x).tolist() == [2, 2, 2]
