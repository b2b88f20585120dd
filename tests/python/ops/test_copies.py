"""copy_, to, clone: within a device, across devices, to the host and back."""

import itertools

import pytest
import torch

pytestmark = [pytest.mark.turns_on_memory, pytest.mark.turns_on_groups, pytest.mark.turns_on_driver]

PLACES = ["cpu", "acme:0", "acme:1"]
PAIRS = [p for p in itertools.product(PLACES, PLACES) if p != ("cpu", "cpu")]
LAYOUTS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.transpose(0, 1).contiguous().transpose(0, 1),
    "part": lambda x: torch.cat([x, x])[:4],
    "every second": lambda x: torch.stack([x, x], -1).flatten(1)[:, ::2],
}


@pytest.mark.parametrize("source,target", PAIRS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.complex64])
def test_copies_between(two_devices, source, target, layout, dtype):
    x = torch.arange(24.0).view(4, 6)
    from_ = LAYOUTS[layout](x.to(source))
    to = torch.full((4, 6), -1, dtype=dtype, device=target)
    for view in (to, to.t().contiguous().t()):
        view.copy_(from_)
        assert torch.equal(view.cpu(), x.to(dtype))


def test_copies_within_one_storage():
    x = torch.arange(6.0, device="acme")
    x.copy_(x)
    x[:3].copy_(x[3:])
    assert x.cpu().tolist() == [3, 4, 5, 3, 4, 5]
    large = torch.arange(1 << 20, device="acme")
    large[: 1 << 19].copy_(large[1 << 19 :])
    assert torch.equal(large.cpu()[: 1 << 19], torch.arange(1 << 19, 1 << 20))


def test_clone_keeps_strides():
    x = torch.randn(2, 3, 4, 5, device="acme").to(memory_format=torch.channels_last)
    assert x.clone().stride() == x.stride()
    assert x.contiguous().stride() == (60, 20, 5, 1)


def test_copies_to_and_from_other_kinds_of_device_are_refused():
    with pytest.raises(NotImplementedError):
        torch.zeros(2, device="acme").copy_(torch.zeros(2, device="meta"))


def test_a_copy_to_another_idle_device_is_done_at_once_where_the_cpu_does_it(two_devices):
    if not all(torch.acme.get_device_properties(i).is_host_addressable for i in range(2)):
        pytest.skip("the CPU cannot address the memory")
    here, there = (torch.ones(16 << 20, dtype=torch.uint8, device=f"acme:{i}") for i in range(2))
    torch.acme.synchronize(0)
    torch.acme.synchronize(1)
    for _ in range(10):
        there.copy_(here)
        assert torch.acme.current_stream(0).query() and torch.acme.current_stream(1).query()


def test_losing_an_imaginary_part_is_warned_of(run_python):
    run_python(
        """
        import warnings
        import torch

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.zeros(3, device="acme").copy_(torch.ones(3, dtype=torch.cfloat))
        assert "discards the imaginary part" in str(caught[0].message)
        """
    )
