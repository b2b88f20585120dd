"""torch.distributed on the device's tensors: groups, meshes, DistributedDataParallel."""

import time

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.nn.parallel import DistributedDataParallel

pytestmark = pytest.mark.any_runtime


def test_the_group_may_name_a_device(group, two_devices):
    with group(device_id=torch.device("acme:1")):
        dist.barrier()
        dist.all_reduce(torch.ones(4, device="acme:1"))


def test_a_vendors_group_is_found_by_the_device(run_quietly):
    run_quietly(
        """
        import torch, torch_acme
        import torch.distributed as dist
        from torch.testing._internal.distributed.fake_pg import FakeStore, _create_fake_pg

        dist.Backend.register_backend("accl", _create_fake_pg, True, devices=["acme"])
        dist.init_process_group(
            rank=0, world_size=2, store=FakeStore(), device_id=torch.device("acme:0")
        )
        assert dist.get_backend() == "accl"
        assert dist.get_default_backend_for_device("acme") == "accl"
        torch.distributed.device_mesh.init_device_mesh("acme", (2,))
        assert torch.acme.current_device() == torch.acme.device_count() - 1
        dist.all_reduce(torch.ones(4, device="acme"))
        dist.destroy_process_group()
        """,
        LOCAL_RANK=str(torch.acme.device_count() - 1),  # which a mesh selects the device by
    )


def test_the_fake_group_takes_the_device_by_its_name_alone(run_quietly):
    run_quietly(
        """
        import torch, torch_acme
        import torch.distributed as dist
        from torch.testing._internal.distributed.fake_pg import FakeStore

        for named in ("fake", "FAKE"):
            for chosen in ({}, {"device_id": torch.device("acme:0")}):
                dist.init_process_group(named, rank=0, world_size=4, store=FakeStore(), **chosen)
                kinds = dist.group.WORLD._device_types
                assert {torch.device("acme"), torch.device("cpu")} <= set(kinds), kinds
                for device in ("acme", "cpu"):
                    x = torch.ones(4, device=device)
                    dist.all_reduce(x)
                    gathered = [torch.empty_like(x) for _ in range(4)]
                    dist.all_gather(gathered, x, group=dist.new_group())
                    assert [each.tolist() for each in gathered] == [[1] * 4] * 4
                if not chosen:  # else a mesh splits the group, which this one cannot
                    mesh = torch.distributed.device_mesh.init_device_mesh("acme", (2, 2))
                    assert mesh.get_group(0).size() == 2
                dist.destroy_process_group()
        """
    )


def test_a_mesh_is_of_the_device(group):
    for rank in (0, 1):
        with group(rank=rank):
            mesh = init_device_mesh("acme", (2,), mesh_dim_names=("all",))
            assert mesh.device_type == "acme"
            assert mesh.get_local_rank("all") == rank
            dist.all_reduce(torch.ones(4, device="acme"), group=mesh.get_group("all"))


# ---- DistributedDataParallel


def averaged(state: None, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """What a real group does to a bucket, if the other rank has the same gradients."""
    done = torch.futures.Future(devices=[bucket.buffer().device])
    done.set_result(bucket.buffer().clone())
    return done


def test_data_parallel_measures_time_on_the_device(group, capfd):
    with group():
        model = DistributedDataParallel(nn.Linear(64, 64).acme())
        model.register_comm_hook(None, averaged)
        before = time.perf_counter_ns()
        for _ in range(3):
            model(torch.ones(64, 64, device="acme")).sum().backward()
        times = model._get_ddp_logging_data()
        after = time.perf_counter_ns()
    starts = []
    for part in ("forward_compute", "backward_compute", "backward_comm"):
        assert 0 < times[f"avg_{part}_time"] < after - before, part
        starts.append(times[f"{part}_time_start"])
    assert starts == sorted(starts) and starts[0] > 0
    assert "Time stats" not in capfd.readouterr().err
