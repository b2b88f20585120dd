"""OUTBACK_TWIN=never: the device as if torch had no CUDA kernels."""

import pytest


@pytest.fixture
def alone(on_device):
    return lambda program: on_device(program, OUTBACK_TWIN="never")


def test_operators_run_over_copies_and_torch_cuda_does_not_start(alone):
    done = alone("""
        assert torch.acme.get_device_properties(0).kernels is None
        x = torch.arange(6.0).acme()
        assert torch.equal((x * 2).cpu(), torch.arange(6.0) * 2)
        weight = torch.full((6, 3), 0.5).acme().requires_grad_()
        (x @ weight).sum().backward()
        assert torch.equal(weight.grad.cpu(), torch.arange(6.0)[:, None].expand(6, 3))
        assert not torch.cuda.is_initialized()
    """)
    assert done.kernels == [] and done.count("call") == 0
    assert done.count("copy") > 0


def test_streams_generators_and_memory_are_the_devices_own(alone):
    alone("""
        x = torch.arange(6.0).acme()
        side = torch.acme.Stream()
        side.wait_stream(torch.acme.current_stream())
        with side:
            y = x + 1
        torch.acme.current_stream().wait_stream(side)
        assert torch.equal(y.cpu(), torch.arange(6.0) + 1)
        torch.acme.manual_seed(3)
        first = torch.rand(4, device="acme").cpu()
        torch.acme.manual_seed(3)
        assert torch.equal(torch.rand(4, device="acme").cpu(), first)
        assert torch.acme.memory_allocated() >= 512
        torch.acme.empty_cache()
        assert not torch.cuda.is_initialized()
    """)


def test_a_compiled_function_computes_the_same(alone):
    done = alone("""
        def f(x):
            return (x * 2 + 1).relu().sum()

        x = torch.linspace(-1, 1, 100)
        assert torch.allclose(torch.compile(f)(x.acme()).cpu(), f(x))
    """)
    assert done.kernels == []  # Dynamo itself starts torch.cuda


def test_a_tensor_is_no_cuda_tensor(alone):
    alone("""
        x = torch.arange(6.0).acme()
        try:
            torch.acme.as_cuda(x)
        except ValueError as error:
            assert "acme:0 shares no memory with CUDA" in str(error), error
        else:
            raise AssertionError("as_cuda made a tensor")
    """)
