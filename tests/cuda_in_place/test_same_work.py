"""Families of programs ask the same of torch.cuda each time."""

from concurrent.futures import ThreadPoolExecutor

import families
import pytest


def both(run, *calls) -> list[list[families.One]]:
    """At the same time."""
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda call: run(*call), calls))


@pytest.mark.parametrize("name", ["graphs", "training"])
def test_a_family_asks_the_same_of_torch_cuda_each_time(family, name):
    these, those = both(family, (name, "cuda"), (name, "cuda"))
    assert families.differences(these, those) == {}
