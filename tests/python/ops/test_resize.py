"""Sizes and storages that change."""

import pytest
import torch

pytestmark = pytest.mark.turns_on_memory


def test_resize_keeps_what_fits():
    x = torch.arange(6.0, device="acme")
    x.resize_(2, 2)
    assert x.cpu().tolist() == [[0, 1], [2, 3]] and x.untyped_storage().nbytes() == 24
    x.resize_(10)
    assert x.cpu()[:6].tolist() == [0, 1, 2, 3, 4, 5] and x.untyped_storage().nbytes() == 40


def test_resize_takes_a_memory_format():
    x = torch.empty(0, device="acme").resize_(1, 2, 3, 3, memory_format=torch.channels_last)
    assert x.is_contiguous(memory_format=torch.channels_last)


def test_a_failed_resize_changes_nothing():
    x = torch.ones(3, device="acme")
    for size in ((1 << 50,), (1 << 60, 1 << 10), (-1,)):
        with pytest.raises(RuntimeError):
            x.resize_(size)
    assert x.shape == (3,) and x.cpu().eq(1).all()


def test_out_grows():
    for size in (0, 3, 100):
        out = torch.empty(size, device="acme")
        storage = out.untyped_storage()
        x = torch.arange(20.0, device="acme")
        if size:
            with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
                result = torch.add(x, 1, out=out)
        else:
            result = torch.add(x, 1, out=out)
        assert result is out and out.shape == (20,) and out.device == x.device
        assert out.untyped_storage().data_ptr() == storage.data_ptr()
        assert torch.equal(out.cpu(), torch.arange(1.0, 21.0))


def test_several_outs_grow():
    values, indices = torch.empty(0, device="acme"), torch.empty(0, dtype=torch.long, device="acme")
    x = torch.randn(4, 9, device="acme")
    torch.sort(x, out=(values, indices))
    expected = x.cpu().sort()
    assert torch.equal(values.cpu(), expected.values)
    assert torch.equal(indices.cpu(), expected.indices)


def test_out_of_the_right_size_keeps_its_memory():
    out = torch.empty(3, device="acme")
    pointer = out.data_ptr()
    torch.mul(torch.ones(3, device="acme"), 2, out=out)
    assert out.data_ptr() == pointer and out.cpu().eq(2).all()


def test_set_takes_another_storage():
    x, y = torch.zeros(2, device="acme"), torch.arange(6.0, device="acme")
    x.set_(y)
    assert x.data_ptr() == y.data_ptr() and x.shape == (6,)
    x.set_(y.untyped_storage(), 2, (2, 2), (2, 1))
    assert x.cpu().tolist() == [[2, 3], [4, 5]]
    x.set_(y.untyped_storage())
    assert x.shape == (6,)
    x.set_()
    assert x.shape == (0,) and x.device.type == "acme"


def test_set_grows_the_storage_it_is_given():
    y = torch.arange(4.0, device="acme")
    x = torch.empty(0, device="acme").set_(y.untyped_storage(), 0, (8,), (1,))
    assert y.untyped_storage().nbytes() == 32 and x.cpu()[:4].tolist() == [0, 1, 2, 3]


def test_a_set_that_fails_changes_nothing():
    x = torch.ones(1000, device="acme")
    small = torch.zeros(1, device="acme").untyped_storage()
    for layout in (((1 << 50,),), ((1 << 60, 1 << 10),), ((1 << 60, 1 << 10), (0, 0))):
        with pytest.raises(RuntimeError):
            x.set_(small, 0, *layout)
        assert x.shape == (1000,) and x.untyped_storage().nbytes() == 4000
    assert small.nbytes() == 4 and x.cpu().eq(1).all()


def test_set_refuses_another_devices_storage():
    with pytest.raises(RuntimeError, match="devices must match"):
        torch.zeros(2, device="acme").set_(torch.zeros(2).untyped_storage(), 0, (2,), (1,))


def test_data_swaps_storages():
    x = torch.nn.Parameter(torch.zeros(2, device="acme"))
    x.data = torch.ones(3, device="acme")
    assert x.shape == (3,) and x.detach().cpu().eq(1).all()
