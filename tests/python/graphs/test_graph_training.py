"""A whole training step as one graph."""

import copy

import pytest
import torch
from torch import nn

acme = torch.acme
pytestmark = [
    pytest.mark.any_runtime,
    pytest.mark.usefixtures("records"),
]


def make_net():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 10)
    ).acme()


OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.01, capturable=True),
    "AdamW, foreach": lambda p: torch.optim.AdamW(p, lr=0.01, capturable=True, foreach=True),
}


@pytest.mark.filterwarnings("ignore:The AccumulateGrad node's stream")
@pytest.mark.parametrize("which", OPTIMIZERS)
def test_a_captured_step_trains_as_the_step_itself(which):
    torch.manual_seed(1)
    batches = [(torch.randn(4, 1, 8, 8), torch.randint(0, 10, (4,))) for _ in range(6)]
    inputs, targets = (t.acme() for t in copy.deepcopy(batches[0]))

    def trained(capture):
        net = make_net()
        optimizer = OPTIMIZERS[which](net.parameters())

        def step():
            optimizer.zero_grad(set_to_none=True)
            loss = nn.functional.cross_entropy(net(inputs), targets)
            loss.backward()
            optimizer.step()
            return loss

        losses = []
        side = acme.Stream()
        with acme.stream(side):
            for _ in range(2):
                step()
        acme.synchronize()
        optimizer.zero_grad(set_to_none=True)
        if capture:
            before = copy.deepcopy(net.state_dict())
            graph = acme.CUDAGraph()
            with acme.graph(graph):
                loss = step()
            for name, value in net.state_dict().items():
                assert torch.equal(value, before[name]), f"the capture changed {name}"
        for x, y in batches:
            inputs.copy_(x)
            targets.copy_(y)
            if capture:
                graph.replay()
            else:
                loss = step()
            losses.append(loss.item())
        return losses, net.state_dict()

    losses, state = trained(capture=False)
    inputs.copy_(batches[0][0])
    targets.copy_(batches[0][1])
    replayed, replayed_state = trained(capture=True)
    assert replayed == losses
    for name, value in state.items():
        assert torch.equal(value, replayed_state[name]), name


def test_autocast_and_its_scaler_are_captured():
    net = nn.Linear(8, 8).acme()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.randn(4, 8, device="acme")
    graph = acme.CUDAGraph()
    with acme.graph(graph), torch.autocast("acme", torch.bfloat16, cache_enabled=False):
        y = net(x)
        y.float().sum().backward()
    x.normal_()
    graph.replay()
    with torch.autocast("acme", torch.bfloat16):
        assert torch.equal(y, net(x))
    optimizer.step()


def test_gradients_of_several_streams_meet_in_one_graph():
    x = torch.ones(50, device="acme", requires_grad=True)
    other = acme.Stream()
    graph = acme.CUDAGraph()
    with acme.graph(graph):
        other.wait_stream(acme.current_stream())
        with acme.stream(other):
            y = x * 3
        acme.current_stream().wait_stream(other)
        (gradient,) = torch.autograd.grad((y * y).sum(), x)
    with torch.no_grad():
        x.fill_(2)
    graph.replay()
    assert gradient.eq(36).all()
