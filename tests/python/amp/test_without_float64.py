"""A backend without float64: what it declares and refuses, and scalers that do without."""

import pytest

pytestmark = pytest.mark.turns_on_memory

WITHOUT = {"OUTBACK_FLOAT64": "0"}


def test_it_declares_and_refuses_both_dtypes(run_python):
    program = """
    import torch
    declared = torch.accelerator.get_device_capability("acme")["supported_dtypes"]
    print(torch.float64 in declared, torch.complex128 in declared, torch.float32 in declared)
    for dtype in (torch.float64, torch.complex128):
        try:
            torch.ones(2, dtype=dtype).acme()
        except TypeError as error:
            print(error)
    """
    has_all = run_python(program)
    assert has_all.output == "True True True"
    refused = "a tensor of acme cannot be torch.{}: the device does not support that dtype"
    assert run_python(program, **WITHOUT).output.splitlines() == [
        "False False True",
        *(refused.format(dtype) for dtype in ("float64", "complex128")),
    ]


STEPS = """
import torch

def steps(make):
    weight = torch.ones(3, device="acme", requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scaler = make(init_scale=48.0, growth_interval=2)
    for factor in (0.5, 0.25, float("inf"), 0.125):
        optimizer.zero_grad()
        scaler.scale((weight * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        print(weight.tolist(), scaler.get_scale())
    other = make()
    other.load_state_dict(scaler.state_dict())
    print(other.scale(torch.ones(1, device="acme")).tolist(), type(scaler.scale(weight)).__name__)

steps(torch.acme.amp.GradScaler)
print()
steps(lambda **settings: torch.amp.GradScaler("acme", **settings))
"""


def test_its_own_scaler_and_pytorchs_step_as_with_float64(run_python):
    with_float64 = run_python(STEPS).output
    assert run_python(STEPS, **WITHOUT).output == with_float64
    own, pytorchs = with_float64.split("\n\n")
    assert own == pytorchs and own.startswith("[0.5, 0.5, 0.5] 48.0\n")


@pytest.mark.slow
def test_the_scaler_of_fsdp_takes_its_scale_off(run_python):
    program = """
    import torch
    from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler

    group = torch.distributed
    group.init_process_group(store=group.HashStore(), rank=0, world_size=1)
    weight = torch.ones(3, device="acme", requires_grad=True)
    scaler = ShardedGradScaler("acme", init_scale=48.0)
    scaler.scale(weight.sum()).backward()
    scaler.unscale_(torch.optim.SGD([weight], lr=1.0))
    print(weight.grad.tolist())
    group.destroy_process_group()
    """
    assert run_python(program, **WITHOUT).output == "[1.0, 1.0, 1.0]"


def test_tensors_beside_a_scaler_stay_without(run_python):
    program = """
    import torch
    scaler = torch.amp.GradScaler("acme")
    scaled = scaler.scale(torch.ones(1, device="acme"))
    try:
        scaled.double()
    except TypeError as error:
        print(error)
    """
    assert "cannot be torch.float64" in run_python(program, **WITHOUT).output
