"""torch.distributed.checkpoint: modules and optimizers of the device, saved and loaded."""

import warnings
from contextlib import nullcontext

import pytest
import torch
import torch.distributed.checkpoint as checkpoint
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    get_model_state_dict,
    get_state_dict,
    set_state_dict,
)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

pytestmark = pytest.mark.any_runtime

IN_A_GROUP = pytest.mark.skipif(
    torch.__version__ < "2.13", reason="this torch's fake group does not gather objects"
)
LAST = torch.acme.device_count() - 1


@pytest.fixture(params=["alone", pytest.param("in a group", marks=IN_A_GROUP)])
def where(request, group):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.distributed is not initialized
        with group(size=1) if request.param == "in a group" else nullcontext():
            yield


def trained(device: str) -> tuple[nn.Module, torch.optim.Optimizer]:
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)).to(device)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randn(5, 4, device=device)).square().sum().backward()
    optimizer.step()
    return model, optimizer


def assert_same(a, b):
    assert a.keys() == b.keys()
    for name, value in a.items():
        if isinstance(value, dict):
            assert_same(value, b[name])
        elif isinstance(value, torch.Tensor):
            assert torch.equal(value.cpu(), b[name].cpu()), name
        else:
            assert value == b[name], name


@pytest.mark.parametrize("asynchronous", [False, True])
def test_what_was_saved_is_loaded_where_it_belongs(where, tmp_path, asynchronous):
    state = dict(zip(("model", "optimizer"), get_state_dict(*trained("acme")), strict=True))
    if asynchronous:
        checkpoint.async_save(state, checkpoint_id=tmp_path).result()
    else:
        checkpoint.save(state, checkpoint_id=tmp_path)
    for device in ("acme:0", f"acme:{LAST}", "cpu"):
        model, optimizer = trained(device)
        names = ("model", "optimizer")
        loaded = dict(zip(names, get_state_dict(model, optimizer), strict=True))
        checkpoint.load(loaded, checkpoint_id=tmp_path)
        set_state_dict(
            model,
            optimizer,
            model_state_dict=loaded["model"],
            optim_state_dict=loaded["optimizer"],
        )
        assert {p.device for p in model.parameters()} == {torch.device(device)}
        after = dict(zip(names, get_state_dict(model, optimizer), strict=True))
        assert_same(after, state)


@IN_A_GROUP
def test_a_sharded_module_is_saved_and_loaded(group, tmp_path):
    with group(size=1):
        mesh = init_device_mesh("acme", (1,))
        model, other = (fully_shard(nn.Linear(4, 3).acme(), mesh=mesh) for _ in range(2))
        checkpoint.save(get_model_state_dict(model), checkpoint_id=tmp_path)
        state = get_model_state_dict(other)
        checkpoint.load(state, checkpoint_id=tmp_path)
        for a, b in zip(model.parameters(), other.parameters(), strict=True):
            assert torch.equal(a.to_local().cpu(), b.to_local().cpu())
            assert b.device.type == "acme"
