"""Memory that both devices see: copies in the order of the stream, and other processes."""

import pytest
import torch
import torch.multiprocessing as multiprocessing


def test_a_pageable_source_may_be_overwritten_once_the_copy_returns(device):
    for _ in range(50):
        source = torch.ones(1 << 20)
        there = source.to(device, non_blocking=True)
        source.zero_()
        assert bool((there == 1).all())


def test_the_uuid_is_the_others(device, other):
    if other.type != "cuda":
        pytest.skip("needs CUDA's device, whose UUID torch.cuda knows")
    here = torch.acme.get_device_properties(device).uuid
    assert str(here) == str(torch.cuda.get_device_properties(other).uuid)


def _doubled(tensor, done):
    tensor.mul_(2)
    torch.acme.synchronize()
    done.set()


@pytest.mark.parametrize("size", [1000, 1 << 20], ids=["part of a segment", "large"])
def test_another_process_writes_shared_memory(device, other, size):
    if other.type == "cpu":
        pytest.skip("needs memory that processes share: CUDA's")
    context = multiprocessing.get_context("spawn")
    tensor = torch.ones(size, device=device)
    done = context.Event()
    child = context.Process(target=_doubled, args=(tensor, done))
    child.start()
    assert done.wait(120)
    assert bool((tensor == 2).all())
    child.join()
    assert child.exitcode == 0
