"""torch.nn.DataParallel, and what it is made of."""

import copy
import inspect

import pytest
import torch
from torch import nn
from torch.nn.parallel import comm, parallel_apply

pytestmark = [
    pytest.mark.any_runtime,
    pytest.mark.skipif(
        "accelerator" not in inspect.getsource(inspect.getmodule(parallel_apply)),
        reason="needs a torch whose torch.nn.parallel knows accelerators",
    ),
    pytest.mark.skipif(
        torch.cuda.is_available(), reason="torch.nn.parallel takes torch.cuda first"
    ),
]


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))


@pytest.mark.parametrize("devices", [[0], [0, 1]])
def test_it_trains_as_one_device_does(devices, two_devices):
    alone = net().acme().eval()  # whose statistics are the whole batch's
    parallel = nn.DataParallel(copy.deepcopy(alone), device_ids=devices).eval()
    x, y = torch.randn(6, 8), torch.randn(6, 2).acme()
    for module, given in ((alone, x.acme()), (parallel, x)):
        nn.functional.mse_loss(module(given), y).backward()
    assert parallel(x).device == torch.device("acme", devices[0])
    for one, other in zip(alone.parameters(), parallel.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad)


@pytest.mark.parametrize("devices", [[0], [0, 1]])
def test_autocast_is_on_in_all_threads(devices, two_devices):
    parallel = nn.DataParallel(net().acme(), device_ids=devices)
    with torch.autocast("acme", dtype=torch.bfloat16):
        assert parallel(torch.randn(6, 8)).dtype == torch.bfloat16
    assert parallel(torch.randn(6, 8)).dtype == torch.float32


def test_by_default_it_takes_all_devices(two_devices):
    assert nn.DataParallel(net().acme()).device_ids == list(range(torch.acme.device_count()))


def test_tensors_are_broadcast(two_devices):
    x = torch.arange(3.0, device="acme")
    here, there = comm.broadcast(x, devices=[0, 1])
    assert here is x and there.device.index == 1 and there.tolist() == [0, 1, 2]
    out = [torch.empty(3, device="acme:1"), torch.empty(3, device="acme:0")]
    assert comm.broadcast(torch.ones(3), out=out)[0] is out[0]
    assert [each.tolist() for each in out] == [[1, 1, 1]] * 2
    _, ((first, second)) = comm.broadcast_coalesced([x, x + 1], [0, 1])
    assert first.tolist() == [0, 1, 2] and second.tolist() == [1, 2, 3]
    assert first.device.index == second.device.index == 1


@pytest.mark.parametrize("of", ["cpu", "acme:0", "acme:1"])
def test_tensors_are_scattered_and_gathered(of, two_devices):
    x = torch.arange(10).view(2, 5).to(of)
    streams = [torch.acme.Stream(0), None]
    first, second = comm.scatter(x, [0, 1], [2, 3], 1, streams)
    torch.acme.synchronize(0)
    assert first.tolist() == [[0, 1], [5, 6]] and first.device.index == 0
    assert second.tolist() == [[2, 3, 4], [7, 8, 9]] and second.device.index == 1
    for destination in ("cpu", 0, 1):
        whole = comm.gather([first, second], 1, destination)
        assert whole.device.type == ("cpu" if destination == "cpu" else "acme")
        assert torch.equal(whole.cpu(), x.cpu())
    out = [torch.empty_like(first), torch.empty_like(second)]
    assert torch.equal(comm.scatter(x, dim=1, out=out)[1].cpu(), second.cpu())
    whole = torch.empty(2, 5, dtype=torch.long)
    assert comm.gather([first, second], 1, out=whole) is whole and torch.equal(whole, x.cpu())


def test_what_is_elsewhere_is_refused(two_devices):
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match=r"input tensors to be on acme devices, .* device cpu"):
        comm.gather([x, x])
    with pytest.raises(RuntimeError, match=r"output tensors to be on acme devices, .* device cpu"):
        comm.broadcast(x.acme(), out=[x])
    with pytest.raises(RuntimeError, match=r"same shape as the source \(2,\), .* shape \(3,\)"):
        comm.broadcast(x.acme(), out=[torch.ones(3, device="acme")])
    with pytest.raises(RuntimeError, match="2 devices and 1 chunk sizes"):
        comm.scatter(x.acme(), [0, 1], [2])
    with pytest.raises(RuntimeError, match=r"All tensors must be on devices\[0\]: 0"):
        comm.broadcast_coalesced([x.to("acme:1")], [0, 1])


def test_cudas_own_are_for_cudas_tensors(monkeypatch):
    from torch.acme._outback import data_parallel

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    function = data_parallel._beside(lambda *_: "ours", lambda *_: "CUDA's")
    x = torch.ones(1)
    for ours in ((x.acme(), [0]), ([x.acme()], 0, 0), (x, [x.acme()])):
        assert function(*ours) == "ours"
    assert function(x, [0, 1], None, 0, None) == "CUDA's"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert function(x, [0, 1], None, 0, None) == "ours"
