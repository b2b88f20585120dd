"""FSDP, DTensor and tensor parallelism on the device, as far as one process of two can tell."""

import pytest
import torch
import torch.distributed.tensor as distributed_tensor
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import (
    CPUOffloadPolicy,
    FullyShardedDataParallel,
    MixedPrecisionPolicy,
    OffloadPolicy,
    fully_shard,
)
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)

pytestmark = pytest.mark.any_runtime

DEVICE = torch.device("acme:0")


@pytest.fixture
def mesh(group):
    with group():
        yield init_device_mesh("acme", (2,))


def layers() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))


@pytest.mark.parametrize("offload", [OffloadPolicy(), CPUOffloadPolicy(pin_memory=False)])
@pytest.mark.parametrize("dtype", [None, torch.bfloat16])
def test_fully_shard_trains(mesh, offload, dtype):
    policy = {
        "mesh": mesh,
        "offload_policy": offload,
        "mp_policy": MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=torch.float32),
    }
    model = layers() if isinstance(offload, CPUOffloadPolicy) else layers().acme()
    for layer in (model[0], model[2]):
        fully_shard(layer, **policy)
    fully_shard(model, **policy)
    optimizer = torch.optim.AdamW(model.parameters())
    home = torch.device("cpu") if isinstance(offload, CPUOffloadPolicy) else DEVICE
    for _ in range(2):
        result = model(torch.ones(3, 4, device="acme"))
        assert (result.device, result.dtype) == (DEVICE, dtype or torch.float32)
        result.sum().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
    for parameter in model.parameters():
        assert isinstance(parameter, DTensor) and parameter.device == home
        assert parameter.grad.device == home
    assert model[0].weight.to_local().shape == (4, 4)  # half of the rows


@pytest.mark.turns_on_groups
@pytest.mark.parametrize("pinned", [True, False])
def test_parameters_that_are_offloaded_are_those_that_train(run_quietly, pinned):
    """Also where there is no pinned memory."""
    run_quietly(
        f"""
        import os
        os.environ |= {{"GLOO_SOCKET_IFNAME": "lo", "LOCAL_RANK": "0"}}
        import torch, torch_acme
        import torch.distributed as dist
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import CPUOffloadPolicy, fully_shard

        def losses(model, device):
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for step in range(3):
                optimizer.zero_grad()
                loss = model(torch.ones(2, 3, device=device)).square().mean()
                loss.backward()
                optimizer.step()
                yield loss.item()

        torch.manual_seed(0)
        model = torch.nn.Linear(3, 2)
        expected = list(losses(model, "cpu"))
        torch.manual_seed(0)
        model = torch.nn.Linear(3, 2)
        dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
        mesh = init_device_mesh("acme", (1,))
        fully_shard(model, mesh=mesh, offload_policy=CPUOffloadPolicy(pin_memory={pinned}))
        got = list(losses(model, "acme"))
        torch.testing.assert_close(got, expected)
        assert expected[2] < expected[0] / 2
        dist.destroy_process_group()
        """
    )


def test_fsdp_as_a_wrapper_trains(group):
    with group():
        model = FullyShardedDataParallel(layers().acme(), device_id=DEVICE)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            model(torch.ones(3, 4, device="acme")).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        assert {p.device for p in model.parameters()} == {DEVICE}


def test_a_distributed_tensor_has_its_shard_on_the_device(group):
    values = torch.arange(12.0).reshape(6, 2)
    for rank in (0, 1):
        with group(rank=rank):
            mesh = init_device_mesh("acme", (2,))
            # Without a rank that sends its values, which a fake group would not.
            x = distribute_tensor(values, mesh, [Shard(0)], src_data_rank=None)
            assert x.device.type == x.to_local().device.type == "acme"
            mine = values[3 * rank : 3 * rank + 3]
            assert torch.equal((x * 2 + 1).to_local().cpu(), mine * 2 + 1)
            assert x.redistribute(mesh, [Replicate()]).to_local().shape == values.shape
            whole = distribute_tensor(values, mesh, [Replicate()], src_data_rank=None)
            mixed = whole @ distribute_tensor(values.t(), mesh, [Shard(1)], src_data_rank=None)
            assert torch.equal(mixed.to_local().cpu(), values @ mine.t())
            assert distribute_tensor(values, mesh, [Shard(0)]).to_local().shape == mine.shape


def test_random_numbers_of_shards_differ_and_repeat(group):
    shards, copies = [], []
    for rank in (0, 1, 0):
        with group(rank=rank):
            mesh = init_device_mesh("acme", (2,))
            torch.manual_seed(7)
            shard = distributed_tensor.rand(8, 4, device_mesh=mesh, placements=[Shard(0)])
            copy = distributed_tensor.randn(8, 4, device_mesh=mesh, placements=[Replicate()])
            dropped = nn.functional.dropout(shard, 0.5)
            shards.append((shard.to_local().cpu(), dropped.to_local().cpu()))
            copies.append(copy.to_local().cpu())
    first, second, again = shards
    assert first[0].shape == (4, 4) and first[1].count_nonzero() < first[0].numel()
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    assert torch.equal(copies[0], copies[1])  # a copy is the same everywhere


def test_layers_are_split_among_the_ranks(mesh):
    model = parallelize_module(
        layers().acme(), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()}
    )
    x = torch.ones(3, 4, device="acme", requires_grad=True)
    result = model(x)
    assert result.shape == (3, 4) and result.device == DEVICE
    result.sum().backward()
    assert model[0].weight.to_local().shape == (4, 4)
    assert model[2].weight.grad.to_local().device == DEVICE
