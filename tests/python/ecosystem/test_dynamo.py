"""torch.compile's front end: the device interface, and devices and streams in graphs."""

import inspect

import pytest
import torch
from torch._dynamo import device_interface
from torch._dynamo.device_interface import (
    CudaInterface,
    DeviceGuard,
    DeviceInterface,
    get_interface_for_device,
    get_registered_device_interfaces,
)

pytestmark = pytest.mark.any_runtime

BACKENDS = ["eager", "aot_eager"]
INTERFACE = get_interface_for_device("acme")
LAST = torch.acme.device_count() - 1


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


# ---- The interface


def test_it_has_all_that_cudas_has():
    inherited = {"get_cache_system_info", "get_cpp_device_options", "is_gpu"}  # of torch 2.15
    triton = {"is_triton_capable", "raise_if_triton_unavailable"}
    for name, member in vars(CudaInterface).items():
        if name.startswith("__") or name in inherited | triton:
            continue
        assert name in vars(INTERFACE), name
        if inspect.isroutine(member):
            assert callable(getattr(INTERFACE, name)), name
    for name in ("set_device", "current_device", "get_device_properties"):
        assert name in vars(INTERFACE.Worker), name
    assert issubclass(INTERFACE, DeviceInterface)


def test_it_is_among_the_registered():
    assert dict(get_registered_device_interfaces())["acme"] is INTERFACE
    for name in ("acme:0", f"acme:{LAST}", torch.device("acme"), torch.device("acme", LAST)):
        assert get_interface_for_device(name) is INTERFACE


def test_one_that_somebody_registers_takes_its_place(monkeypatch):
    class Other(INTERFACE):
        pass

    registered = device_interface.device_interfaces
    monkeypatch.setitem(registered, "acme", Other)
    assert get_interface_for_device("acme:0") is Other
    monkeypatch.setitem(registered, "acme:0", INTERFACE)
    assert get_interface_for_device("acme:0") is INTERFACE


def test_devices(two_devices):
    assert INTERFACE.is_available() and INTERFACE.device_count() == LAST + 1
    with INTERFACE.device(1):
        assert INTERFACE.current_device() == 1
    with DeviceGuard(INTERFACE, 1):
        assert torch.acme.current_device() == 1
    assert INTERFACE.exchange_device(1) == 0 and INTERFACE.maybe_exchange_device(0) == 1
    assert INTERFACE.maybe_exchange_device(-1) == -1 and INTERFACE.current_device() == 0
    INTERFACE.set_device(1)
    assert INTERFACE.current_device() == 1


def test_properties():
    own = torch.acme.get_device_properties(LAST)
    for properties in (
        INTERFACE.get_device_properties(LAST),
        INTERFACE.get_device_properties(torch.device("acme", LAST)),
        INTERFACE.Worker.get_device_properties(LAST),
        INTERFACE.Worker.get_device_properties(f"acme:{LAST}"),
    ):
        assert properties.name == own.name
        assert properties.multi_processor_count == own.multi_processor_count
    assert INTERFACE.get_compute_capability(LAST) == torch.acme.get_device_capability(LAST)


def test_dtypes():
    assert INTERFACE.is_dtype_supported(torch.float32)
    assert INTERFACE.is_dtype_supported(torch.int64)
    assert INTERFACE.is_bf16_supported(including_emulation=True)
    assert INTERFACE.is_dtype_supported(torch.bfloat16, including_emulation=True)
    native = torch.bfloat16 in torch.acme.get_amp_supported_dtype()
    assert INTERFACE.is_dtype_supported(torch.bfloat16) == native
    with pytest.raises(TypeError, match=r"expected a torch\.dtype"):
        INTERFACE.is_dtype_supported("float32")


def test_streams(real_streams):
    stream = INTERFACE.Stream()
    with INTERFACE.stream(stream):
        assert INTERFACE.current_stream() == stream
        assert INTERFACE.get_raw_stream(0) != 0  # the default stream's handle is null
    INTERFACE.set_stream(stream)
    assert torch.acme.current_stream() == stream
    default = torch.acme.default_stream()
    INTERFACE._set_stream_by_id(
        stream_id=default.stream_id,
        device_index=default.device_index,
        device_type=default.device_type,
    )
    assert INTERFACE.current_stream() == default
    event = INTERFACE.Event()
    event.record(stream)
    event.synchronize()
    assert event.query()
    INTERFACE.synchronize()
    INTERFACE.synchronize(0)


def test_memory_and_triton():
    before = INTERFACE.memory_allocated()
    x = torch.ones(1 << 10, device="acme")
    assert INTERFACE.memory_allocated(0) - before >= x.nbytes
    assert not INTERFACE.is_triton_capable()
    with pytest.raises(RuntimeError, match="Triton"):
        INTERFACE.raise_if_triton_unavailable()


# ---- Graphs


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_device_is_entered_in_a_graph(backend, two_devices):
    @torch.compile(backend=backend)
    def f(x):
        with torch.acme.device(1):
            y = torch.ones(3, device="acme")
        return x + 1, y

    x, y = f(torch.zeros(3, device="acme:0"))
    assert x.tolist() == [1] * 3 and y.device == torch.device("acme:1")
    assert torch.acme.current_device() == 0


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_default_device_is_entered_in_a_graph(backend):
    @torch.compile(backend=backend)  # torch breaks the graph there, for any device
    def f(x):
        with torch.device("acme"):
            return x + torch.ones(3)

    assert f(torch.zeros(3, device="acme")).tolist() == [1] * 3
    with torch.device("acme"):
        g = torch.compile(lambda x: x + torch.ones(3), backend=backend, fullgraph=True)
        assert g(torch.zeros(3)).is_acme


@pytest.mark.parametrize("backend", BACKENDS)
def test_streams_and_events_in_a_graph(backend, real_streams):
    side, done = torch.acme.Stream(), torch.acme.Event()

    @torch.compile(backend=backend)
    def f(x):
        side.wait_stream(torch.acme.current_stream())
        with torch.acme.stream(side):
            y = x * 2
            done.record()
        torch.acme.current_stream().wait_event(done)
        return y + 1

    x = torch.ones(1000, device="acme")
    for _ in range(3):
        assert torch.equal(f(x).cpu(), torch.full((1000,), 3.0))
    assert torch.acme.current_stream() == torch.acme.default_stream()


@pytest.mark.parametrize("backend", BACKENDS)
def test_streams_and_events_that_a_graph_makes_are_of_the_devices_classes(backend, real_streams):
    @torch.compile(backend=backend)
    def f(x):
        stream = torch.acme.Stream(x.device, priority=-1)
        begin, end = torch.acme.Event(True), torch.acme.Event(enable_timing=True, external=False)
        begin.record()
        y = x * 2
        end.record()
        torch._dynamo.graph_break()
        stream.wait_event(end)
        stream.synchronize()
        return y + 1, stream, begin, end

    for _ in range(2):
        y, stream, begin, end = f(torch.ones(8, device="acme"))
        assert y.tolist() == [3] * 8
        assert type(stream) is torch.acme.Stream and stream.device == y.device
        assert stream.priority == torch.acme.Stream(priority=-1).priority
        assert isinstance(stream.native_handle, int)
        assert type(begin) is type(end) is torch.acme.Event
        end.synchronize()
        assert begin.elapsed_time(end) >= 0  # they are those that the graph recorded
        stream.wait_stream(torch.acme.current_stream())
        end.record(stream)
        end.synchronize()


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_asked_of_them_behind_a_break(backend, real_streams):
    asked = []

    @torch.compile(backend=backend)
    def f(x):
        stream, begin, end = torch.acme.Stream(), torch.acme.Event(True), torch.acme.Event(True)
        begin.record()
        y = x * 2
        end.record()
        torch._dynamo.graph_break()
        end.synchronize()
        asked.append((begin.elapsed_time(end), stream.priority, stream.native_handle))
        asked.append(isinstance(stream, torch.acme.Stream))
        stream.wait_stream(torch.acme.current_stream())
        with torch.acme.stream(stream):
            return y + 1

    for _ in range(2):
        y = f(torch.ones(8, device="acme"))
        torch.acme.synchronize()
        assert y.tolist() == [3] * 8
        assert asked[-1] and asked[-2][0] >= 0 and asked[-2][1] == 0


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_event_that_a_stream_records_in_a_graph_is_of_the_devices_class(backend, real_streams):
    side = torch.acme.Stream()

    @torch.compile(backend=backend)
    def f(x):
        return x + 1, side.record_event()

    for _ in range(2):
        y, event = f(torch.ones(2, device="acme"))
        event.synchronize()
        assert y.tolist() == [2, 2] and type(event) is torch.acme.Event and event.query()


@pytest.mark.parametrize("backend", BACKENDS)
def test_those_of_torchs_own_classes_stay_what_they_are(backend, real_streams):
    @torch.compile(backend=backend)
    def f(x):
        stream, event = torch.Stream(device="acme"), torch.Event("acme")
        event.record(stream)
        return x + 1, stream, event

    for _ in range(2):
        _, stream, event = f(torch.ones(2, device="acme"))
        assert type(stream) is torch.Stream and type(event) is torch.Event
        event.synchronize()


@pytest.mark.parametrize("backend", BACKENDS)
def test_random_numbers_in_a_graph_follow_the_seed(backend):
    def f(x):
        return torch.nn.functional.dropout(x, 0.5) + torch.rand_like(x)

    compiled = torch.compile(f, backend=backend, fullgraph=True)
    x = torch.ones(100, device="acme")
    torch.manual_seed(5)
    expected = [f(x), f(x)]
    torch.manual_seed(5)
    for each in expected:
        assert torch.equal(compiled(x), each)


@pytest.fixture
def graphsafe_random_numbers() -> None:
    from torch._functorch._aot_autograd import utils

    if not hasattr(utils, "supports_graphsafe_rng"):
        pytest.skip("torch 2.13 is the first that repeats them on other devices than cuda")


def test_checkpointed_dropout_in_a_graph(graphsafe_random_numbers):
    # torch's "eager" backend does not repeat random numbers, on any device.
    from torch.utils.checkpoint import checkpoint

    @torch.compile(backend="aot_eager", fullgraph=True)
    def f(t):
        return checkpoint(
            lambda v: torch.nn.functional.dropout(v.cos(), 0.5), t, use_reentrant=False
        )

    x = torch.rand(64, device="acme").add_(0.5).requires_grad_()
    for _ in range(3):
        x.grad = None
        y = f(x)
        y.sum().backward()
        assert torch.equal(y != 0, x.grad != 0)  # the same were dropped forth and back
        assert 5 < (y != 0).sum().item() < 59


def test_recomputed_random_numbers_are_known_to_the_partitioner(graphsafe_random_numbers):
    from torch._functorch._aot_autograd import utils

    assert utils.supports_graphsafe_rng(torch.device("acme"))
    generator = utils.get_default_generator(torch.device("acme", LAST))
    assert generator.device == torch.acme.default_generators[LAST].device


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_optimizer_in_a_graph(backend):
    p = torch.nn.Parameter(torch.ones(4, device="acme"))
    p.grad = torch.ones_like(p)
    optimizer = torch.optim.Adam([p], lr=0.1)
    torch.compile(optimizer.step, backend=backend)()
    torch.testing.assert_close(p.detach().cpu(), torch.full((4,), 0.9))


def test_constants_of_the_device_stand_in_a_graph():
    def facts():
        acme = torch.acme
        device = (acme.get_device_name(0), acme.get_device_capability(0), acme.is_bf16_supported())
        return (acme.is_available(), acme.is_initialized(), acme.device_count(), *device)

    def twice_if_available(x):
        return (x * 2 if torch.acme.is_available() else x), facts()

    x = torch.ones(2, device="acme")
    y, found = torch.compile(twice_if_available, backend="eager", fullgraph=True)(x)
    assert y.tolist() == [2, 2] and found == facts()


def test_a_graph_is_made_again_for_another_current_device(two_devices):
    compiled = torch.compile(
        lambda x: x + torch.acme.current_device(), backend="eager", fullgraph=True
    )
    x = torch.zeros(1)
    for index in (0, 1, 0):
        with torch.acme.device(index):
            assert compiled(x).item() == index


def test_a_graph_is_made_again_for_another_device():
    calls = []

    def backend(graph, inputs):
        calls.append(inputs[0].device)
        return graph.forward

    f = torch.compile(lambda x: x + 1, backend=backend)
    for device in ("cpu", "acme", "cpu", "acme"):
        f(torch.ones(2, device=device))
    assert [d.type for d in calls] == ["cpu", "acme"]
