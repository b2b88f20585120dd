"""examples/cuda_kernel on a device: values, streams, devices, graphs. swiglu_program.py LIBRARY

Asks no kernel of PyTorch's own to compute anything on the device, so it is right on the stand-in
for libcudart too, where those compute nothing: data comes by copies.
"""

import sys

import show  # examples/cuda_kernel
import torch

SIZE = 1000  # elements: the last block has some to spare


def expect(result: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> None:
    torch.testing.assert_close(result.cpu(), show.reference(gate, up))


def values() -> None:
    for dtype in show.DTYPES:
        show.compare(str(dtype), *torch.randn(3, 5, 7).to(dtype))
    # More than the largest grid has threads.
    show.compare("many elements", *torch.randn(3, (1 << 20) + 77))
    show.compare("extremes", *torch.tensor([[-200.0, 200.0, 0.0], [2.0] * 3, [1.0] * 3]))
    show.compare("no elements", *torch.randn(3, 0))


def streams(gate: torch.Tensor, up: torch.Tensor) -> None:
    """No other order than that of the current stream is right."""
    pinned = torch.stack((gate, up)).pin_memory()
    on_device = torch.empty(2, SIZE, device="acme")
    side = torch.acme.Stream()
    side.wait_stream(torch.acme.current_stream())
    with torch.acme.stream(side):
        on_device.copy_(pinned, non_blocking=True)
        result = show.swiglu(*on_device)
        back = torch.empty(SIZE).pin_memory().copy_(result, non_blocking=True)
    side.synchronize()
    expect(back, *pinned)


def devices(gate: torch.Tensor, up: torch.Tensor) -> None:
    if torch.acme.device_count() < 2:
        return
    result = show.swiglu(gate.to("acme:1"), up.to("acme:1"))
    assert result.device == torch.device("acme:1")
    assert torch.acme.current_device() == 0
    expect(result, gate, up)


def graphs(gate: torch.Tensor, up: torch.Tensor) -> None:
    g, u = gate.acme(), up.acme()
    graph = torch.acme.CUDAGraph()
    with torch.acme.graph(graph):
        result = show.swiglu(g, u)
    for by in (1, 2):
        g.copy_(gate * by)
        graph.replay()
        expect(result, gate * by, up)


def compiled(gate: torch.Tensor, up: torch.Tensor) -> None:
    """By Inductor, where it generates code for the device."""
    if torch.acme.get_device_properties(0).kernels is not None:
        function = torch.compile(show.swiglu, fullgraph=True)
        show.compare("Inductor", gate, up, torch.ones_like(gate), function)


def refusals(gate: torch.Tensor, up: torch.Tensor) -> None:
    g, u = gate.acme(), up.acme()
    show.refused(g, u[:-1])
    show.refused(g, up.double().acme())
    show.refused(g, up)
    show.refused(g.view(torch.int32), u.view(torch.int32))
    try:
        show.swiglu(gate, up)
    except NotImplementedError as error:
        assert "acme::swiglu" in str(error) and "'CPU' backend" in str(error), error
    else:
        raise AssertionError("tensors of the CPU were not refused")


def main() -> None:
    show.load(sys.argv[1])
    torch.manual_seed(0)
    values()
    for part in (compiled, streams, devices, graphs, refusals):
        part(*torch.randn(2, SIZE))
        print(part.__name__)


if __name__ == "__main__":
    main()
