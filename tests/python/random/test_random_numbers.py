"""Which numbers a seed stands for: the same on every device, in every run, on every path."""

import pytest
import torch

pytestmark = pytest.mark.turns_on_memory

SEED = 20260101

# Written down once, the same on torch 2.11 to 2.15. Who changes them changes what a seed means.
DRAWS = {
    "rand": [0.804724931716919, 0.6792539358139038, 0.7629247903823853, 0.9433279633522034],
    "randint": [943, 688, 472, 131, 245, 24],
    "randperm": [6, 7, 4, 2, 3, 0, 1, 5],
    "randn": [-1.0529208055545063, 0.582066736165589, -0.35300442201995225, 0.5141144225992708],
}
# The same, where the device's own kernels draw them: portable ones.
DRAWS_OF_KERNELS = {
    "rand": [0.426653116941452, 0.1294628232717514, 0.827502429485321, 0.5186330676078796],
    "randint": [803, 599, 155, 503, 474, 727],
    "randperm": DRAWS["randperm"],
    "randn": [0.22423056683810896, -1.5773248238829927, -1.4288958323920484, -1.5050773730122624],
}


@pytest.fixture(scope="module")
def draws() -> dict[str, list]:
    # The first word of seed 0 is Philox's own, or one of the CPU's generator.
    generator = torch.Generator("acme").manual_seed(0)
    word = torch.empty(1, dtype=torch.int64, device="acme")
    word.random_(-(2**63), None, generator=generator)
    return DRAWS_OF_KERNELS if word.item() & 0xFFFFFFFF == 0x6627E8D5 else DRAWS


def draw_all(device: str) -> dict[str, list]:
    draws = {
        "rand": torch.rand(4, device=device),
        "randint": torch.randint(0, 1000, (6,), device=device),
        "randperm": torch.randperm(8, device=device),
        "randn": torch.randn(4, device=device, dtype=torch.float64),
    }
    return {name: tensor.tolist() for name, tensor in draws.items()}


def expect(found: dict[str, list], draws: dict[str, list]) -> None:
    # Mathematical functions differ in their last bit: of these only randn uses any.
    assert found == draws | {"randn": pytest.approx(draws["randn"], rel=1e-12)}


@pytest.mark.parametrize("device", [0, 1])
def test_a_seed_stands_for_the_same_numbers_on_every_device(two_devices, device, draws):
    torch.acme.manual_seed_all(SEED)
    expect(draw_all(f"acme:{device}"), draws)
    assert torch.acme.default_generators[device].get_offset() == 16


def test_in_a_generator_of_ones_own_too(draws):
    generator = torch.Generator("acme").manual_seed(SEED)
    assert torch.rand(4, device="acme", generator=generator).tolist() == draws["rand"]


def test_in_every_thread(run_python, draws):
    run = run_python(
        f"""
        import threading, torch, torch_acme
        torch.acme.manual_seed({SEED})
        found = []
        thread = threading.Thread(
            target=lambda: found.append(torch.rand(4, device="acme").tolist())
        )
        thread.start()
        thread.join()
        assert found == [{draws["rand"]}], found
        """
    )
    assert run.code == 0


@pytest.mark.parametrize(
    "same",
    [
        lambda x: x.uniform_(),
        lambda x: x.copy_(torch.rand(x.shape, device=x.device)),
        lambda x: x.copy_(torch.rand_like(x)),
        lambda x: torch.rand(x.shape, out=x, device=x.device),
    ],
    ids=["uniform_", "rand", "rand_like", "out"],
)
def test_every_form_of_an_operator_draws_the_same(same, draws):
    torch.acme.manual_seed(SEED)
    x = torch.empty(4, device="acme")
    same(x)
    assert x.tolist() == draws["rand"]


def test_a_tensor_that_is_not_contiguous_gets_them_in_its_own_order(draws):
    torch.acme.manual_seed(SEED)
    x = torch.zeros(4, 2, device="acme")
    x[:, 0].uniform_()
    assert x[:, 0].tolist() == draws["rand"]
    assert x[:, 1].tolist() == [0] * 4


def test_the_fallback_and_the_kernels_in_place_draw_the_same(run_python):
    """OUTBACK_HOST_PROTECTED makes every operator of the host runtime take the fallback."""
    program = f"""
        import torch, torch_acme
        torch.acme.manual_seed({SEED})
        x = torch.empty(4, device="acme").uniform_()
        print(x.tolist(), torch.nn.functional.dropout(torch.ones(9, device="acme")).tolist())
        """
    assert run_python(program).output == run_python(program, OUTBACK_HOST_PROTECTED="1").output


def test_a_distributed_tensor_draws_by_seed_and_offset(run_python):
    """What torch.distributed.tensor does with the state's 16 bytes, on a mesh of one process."""
    run = run_python(
        """
        import torch, torch_acme
        import torch.distributed as dist
        from torch.testing._internal.distributed.fake_pg import FakeStore

        dist.init_process_group("cpu:fake,acme:fake", store=FakeStore(), rank=0, world_size=2)
        from torch.distributed.device_mesh import init_device_mesh
        import torch.distributed.tensor as dt

        mesh = init_device_mesh("acme", (2,))
        torch.manual_seed(7)
        def shard():
            x = dt.rand(8, 4, device_mesh=mesh, placements=[dt.Shard(0)])
            assert x.device.type == "acme"
            return x.to_local().tolist()
        torch.acme.manual_seed(7)
        first, second = shard(), shard()
        assert first != second and len(first) == 4
        state = torch.acme.get_rng_state()
        assert int.from_bytes(bytes(state[:8].tolist()), "little") == 7
        assert int.from_bytes(bytes(state[8:].tolist()), "little") % 4 == 0 < state[8]
        torch.acme.manual_seed(7)
        assert (shard(), shard()) == (first, second)
        dist.destroy_process_group()
        """,
        check=False,
    )
    assert run.code == 0, run
