"""torch.compile on the device, without a code generator."""

import pytest
import torch

pytestmark = pytest.mark.any_runtime

BACKENDS = ["eager", "aot_eager"]


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def branches(x):
    y = x + 1 if x.is_acme else x - 1  # an input
    return y * 2 if y.is_acme else y * 3  # an intermediate


@pytest.mark.parametrize("backend", BACKENDS)
def test_is_acme_takes_the_right_branch(backend):
    compiled = torch.compile(branches, backend=backend, fullgraph=True)
    for device in ("cpu", "acme"):
        x = torch.rand(3, device=device)
        assert torch.equal(compiled(x), branches(x))


@pytest.mark.parametrize("backend", BACKENDS)
def test_acme_moves_inside_a_graph(backend):
    compiled = torch.compile(lambda x: x.acme() + 1, backend=backend, fullgraph=True)
    assert torch.equal(compiled(torch.ones(2)).cpu(), torch.full((2,), 2.0))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_module_trains(backend):
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.GELU(), torch.nn.Linear(4, 1)
    ).acme()
    x = torch.rand(5, 3, device="acme")
    compiled = torch.compile(module, backend=backend, fullgraph=True)
    expected = torch.autograd.grad(module(x).sum(), list(module.parameters()))
    actual = torch.autograd.grad(compiled(x).sum(), list(module.parameters()))
    for a, b in zip(actual, expected, strict=True):
        torch.testing.assert_close(a, b)


def test_a_compiler_that_was_imported_first_learns_of_it(run_python):
    run_python(
        """
        import torch, torch._dynamo
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(1))
        import torch_acme
        from torch._dynamo.device_interface import get_interface_for_device
        assert get_interface_for_device("acme").device_count() == torch.acme.device_count()

        @torch.compile(backend="eager", fullgraph=True)
        def f(x):
            y = x + 1 if x.is_acme else x - 1
            return y * 2 if y.is_acme else y * 3

        assert f(torch.ones(1, device="acme")).item() == 4
        assert f(torch.ones(1)).item() == 0
        """,
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )


def test_the_interface_is_made_with_the_compiler(run_python):
    run_python(
        """
        import sys
        import torch, torch_acme
        wanted = lambda: {
            finder._wanted for finder in sys.meta_path if type(finder).__name__ == "_Watch"
        }
        before = wanted()
        assert "torch._dynamo" not in sys.modules
        assert "torch._dynamo.device_interface" in before
        import torch._dynamo.device_interface as interfaces
        # Each that was imported has had its action, and no other one.
        assert wanted() == {name for name in before if name not in sys.modules}
        assert interfaces.__spec__.name == "torch._dynamo.device_interface"
        interface = interfaces.get_interface_for_device("acme")
        assert interface is interfaces.get_interface_for_device("acme:0")
        for wrong in (f"acme:{torch.acme.device_count()}", "acme:", "acme:x"):
            try:
                interfaces.get_interface_for_device(wrong)
            except NotImplementedError as error:
                assert str(error) == f"No interface for device {wrong}"
            else:
                raise AssertionError(wrong)
        assert interface is interfaces.get_interface_for_device(torch.device("acme", 0))
        """
    )


def test_who_only_asks_for_the_module_takes_nothing_away(run_python):
    run_python(
        """
        import importlib.util
        import torch, torch_acme
        for _ in range(2):
            assert importlib.util.find_spec("torch._dynamo.device_interface").loader is not None
        from torch._dynamo.device_interface import get_interface_for_device
        assert get_interface_for_device("acme").device_count() == torch.acme.device_count()
        """
    )


FAILING = {
    "the search": """
        from importlib.machinery import BuiltinImporter

        class Interrupted:
            def find_spec(self, wanted, *_):
                if wanted == name:
                    sys.meta_path.remove(self)
                    raise KeyboardInterrupt

        sys.meta_path.insert(sys.meta_path.index(BuiltinImporter), Interrupted())
        """,
    "the execution": """
        from importlib.machinery import SourceFileLoader
        execute = SourceFileLoader.exec_module

        def interrupted(loader, module):
            if module.__name__ == name:
                SourceFileLoader.exec_module = execute
                raise KeyboardInterrupt
            execute(loader, module)

        SourceFileLoader.exec_module = interrupted
        """,
}


@pytest.mark.parametrize("what", FAILING)
def test_an_import_that_failed_may_be_tried_again(run_python, what):
    run_python(
        f"""
        import sys
        import torch, torch_acme
        name = "torch._inductor.codegen.cpp"
        {FAILING[what]}
        try:
            import torch._inductor.codegen.cpp
        except KeyboardInterrupt:
            pass
        else:
            raise AssertionError("imported")
        import torch._inductor.codegen.cpp
        from torch._inductor.codegen.common import get_scheduling_for_device
        assert get_scheduling_for_device("acme") is not None
        """
    )


def test_the_interface_speaks_for_the_device():
    from torch._dynamo.device_interface import DeviceInterface, get_interface_for_device

    interface = get_interface_for_device("acme")
    assert issubclass(interface, DeviceInterface)
    assert issubclass(interface.Stream, torch.Stream)
    assert issubclass(interface.Event, torch.Event)
    assert interface.is_available()
    assert interface.current_device() == 0
    with interface.device(0):
        assert interface.current_stream() == torch.acme.current_stream()
    before = interface.exchange_device(0)
    assert interface.maybe_exchange_device(before) == 0
    interface.synchronize()
    assert isinstance(interface.get_raw_stream(0), int)
    assert interface.memory_allocated() == torch.acme.memory_allocated()
    assert interface.is_dtype_supported(torch.bfloat16) in (True, False)
    assert interface.get_device_properties(0).name == torch.acme.get_device_name(0)


def test_the_compilers_workers_need_no_device(run_python):
    run_python(
        """
        import os, torch, torch_acme
        from torch._dynamo.device_interface import get_interface_for_device
        worker = get_interface_for_device("acme").Worker
        name = worker.get_device_properties(0).name  # read in the parent
        child = os.fork()
        if child == 0:
            worker.set_device(0)
            ok = worker.get_device_properties().name == name and worker.current_device() == 0
            os._exit(0 if ok else 1)
        assert os.waitpid(child, 0)[1] == 0
        """
    )


@pytest.mark.parametrize("strict", [True, False])
def test_export_takes_the_right_branch(strict):
    class Branches(torch.nn.Module):
        def forward(self, x):
            return branches(x)

    x = torch.rand(3, device="acme")
    program = torch.export.export(Branches(), (x,), strict=strict)
    assert torch.equal(program.module()(x), branches(x))


def test_a_stream_can_be_entered_in_a_graph(real_streams):
    stream = torch.acme.Stream()

    @torch.compile(backend="eager")
    def f(x):
        with stream:
            return x + 1

    x = torch.ones(2, device="acme")
    result = f(x)
    stream.synchronize()
    assert torch.equal(result.cpu(), torch.full((2,), 2.0))
