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


def test_a_set_that_fails_changes_nothing():
    x = torch.ones(1000, device="acme")
    small = torch.zeros(1, device="acme").untyped_storage()
    for layout in (((1 << 50,),), ((1 << 60, 1 << 10),), ((1 << 60, 1 << 10), (0, 0))):
        with pytest.raises(RuntimeError):
            x.set_(small, 0, *layout)
        assert x.shape == (1000,) and x.untyped_storage().nbytes() == 4000
    assert small.nbytes() == 4 and x.cpu().eq(1).all()
