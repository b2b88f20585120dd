"""SyncBatchNorm in two processes trains as BatchNorm does in one, on the whole batch."""

import pytest

pytestmark = pytest.mark.turns_on_memory


@pytest.mark.parametrize("memory_format", ["contiguous_format", "channels_last"])
def test_it_trains_as_in_one_process(run_ranks, memory_format):
    run_ranks(
        f"""
        from torch import nn

        def trained(device, part, network, options):
            network = network.to(device, **options)
            if device == "acme":
                network = nn.SyncBatchNorm.convert_sync_batchnorm(network)
                network = nn.parallel.DistributedDataParallel(network)
            optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
            for step in range(3):
                optimizer.zero_grad()
                torch.manual_seed(step)
                x, wanted = (torch.randn(6, 3, 5, 4) for _ in "xy")
                x = x[part].to(device, **options)
                (network(x) - wanted[part].to(device)).square().mean().backward()
                optimizer.step()
            return getattr(network, "module", network).state_dict()

        def network():
            torch.manual_seed(0)
            return nn.Sequential(nn.Conv2d(3, 8, 1), nn.BatchNorm2d(8), nn.Conv2d(8, 3, 1))

        options = {{"memory_format": torch.{memory_format}}}
        part = slice(0, 3) if rank == 0 else slice(3, 6)
        here = trained("acme", part, network(), options)
        whole = trained("cpu", slice(0, 6), network(), options)
        for name, wanted in whole.items():
            torch.testing.assert_close(here[name].cpu(), wanted, msg=name)
        """
    )


def test_a_rank_without_rows(run_ranks):
    run_ranks(
        """
        layer = torch.nn.SyncBatchNorm(3).to("acme")
        x = torch.arange(12.0).reshape(4, 3).to("acme")[: 4 * rank].requires_grad_()
        layer(x).square().sum().backward()
        assert rank == 0 or x.grad.shape == x.shape
        torch.testing.assert_close(layer.running_mean.cpu(), torch.tensor([0.45, 0.55, 0.65]))
        """
    )
