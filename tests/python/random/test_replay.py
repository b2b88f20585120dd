"""Random numbers that have to come again: fork_rng, checkpointed dropout, DataLoader workers."""

import pytest
import torch

pytestmark = pytest.mark.any_runtime


def draw(device: int = 0) -> list[float]:
    return torch.rand(8, device=f"acme:{device}").tolist()


@pytest.mark.parametrize("device_type", ["acme", None])
def test_fork_rng_puts_back_what_was(device_type):
    if device_type is None and torch.__version__ < "2.13":
        pytest.skip("without a device_type this torch forks CUDA's")
    torch.manual_seed(3)
    devices = range(torch.acme.device_count())
    with torch.random.fork_rng(devices=devices, device_type=device_type):
        inside = [draw(device) for device in devices], torch.rand(3).tolist()
        torch.manual_seed(8)
        draw()
    assert ([draw(device) for device in devices], torch.rand(3).tolist()) == inside


def test_fork_rng_leaves_other_devices_alone(two_devices):
    torch.acme.manual_seed_all(3)
    with torch.random.fork_rng(devices=[1], device_type="acme"):
        first = draw(0)
    assert draw(0) != first


def test_workers_of_a_data_loader_seed_themselves(run_python):
    """Forked before the device was used, they draw on the CPU only, and differ by their seed."""
    run = run_python(
        """
        import torch, torch_acme
        from torch.utils.data import DataLoader, Dataset

        class Draws(Dataset):
            def __len__(self):
                return 4
            def __getitem__(self, i):
                assert torch.acme.initial_seed() == torch.initial_seed()
                return torch.rand(1)

        def draws():
            torch.manual_seed(2)
            loader = DataLoader(Draws(), num_workers=2, multiprocessing_context="fork")
            return [batch.item() for batch in loader]

        first = draws()
        assert len(set(first)) == 4 and draws() == first
        torch.ones(1, device="acme")  # from here on a forked child is refused the device
        class Plain(Draws):
            def __getitem__(self, i):
                return torch.rand(1)
        loader = DataLoader(Plain(), num_workers=2, multiprocessing_context="fork")
        assert len([batch.acme() for batch in loader]) == 4
        """
    )
    assert run.code == 0
