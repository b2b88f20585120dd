"""How a program gets a process group of the device: by saying nothing, by names, by parts."""

import pytest
import torch
import torch.distributed as dist

pytestmark = pytest.mark.any_runtime


def test_the_group_is_the_devices_default():
    assert dist.Backend.default_device_backend_map["acme"] == "outback"
    assert dist.get_default_backend_for_device("acme") == "outback"
    assert dist.get_default_backend_for_device("cpu") == "gloo"
    assert dist.Backend.backend_capability["gloo"] == ["cpu", "cuda"]  # as ever


def test_nothing_named_serves_the_device_and_the_cpu(run_ranks):
    run_ranks(
        """
        world = dist.group.WORLD
        assert sorted(map(str, world._device_types)) == ["acme", "cpu"]
        assert type(world._get_backend(torch.device("cpu"))) is dist.ProcessGroupGloo
        part = dist.new_group([0, 1])
        for group in (None, part):
            for device in ("acme", "cpu"):
                x = torch.full((3,), rank + 1.0, device=device)
                dist.all_reduce(x, group=group)
                assert x.tolist() == [3, 3, 3] and x.device.type == device
        objects = [None, None]
        dist.all_gather_object(objects, {"rank": rank})
        assert objects == [{"rank": 0}, {"rank": 1}]
        dist.barrier()
        """
    )


@pytest.mark.parametrize(
    "named",
    [
        *("backend='outback'", "backend='acme'", "backend='cpu:gloo,acme:outback'"),
        *("backend='cpu:gloo,acme:acme'", "backend='gloo'", "device_id=torch.device('acme:0')"),
    ],
)
def test_a_group_by_a_name_or_a_device(run_ranks, named):
    run_ranks(
        """
        for device in ("acme", "cpu"):
            x = torch.full((3,), rank + 1.0, device=device)
            dist.all_reduce(x)
            assert x.tolist() == [3, 3, 3] and x.device.type == device
        """,
        group=named,
    )


def test_the_group_takes_tensors_of_the_cpu_too(run_ranks):
    run_ranks(
        """
        x, y = torch.ones(3, device="acme"), torch.ones(3)
        later = dist.all_reduce(x, async_op=True)
        dist.all_reduce(y)
        later.wait()
        assert x.tolist() == y.tolist() == [2, 2, 2]
        """,
        group="backend='cpu:outback,acme:outback'",
    )


def test_a_program_of_the_cpu_is_as_it_was(run_ranks):
    run_ranks(
        """
        world = dist.group.WORLD
        assert dist.get_backend() == "gloo"
        assert sorted(map(str, world._device_types)) == ["acme", "cpu"]
        assert type(world._get_backend(torch.device("cpu"))) is dist.ProcessGroupGloo
        x = torch.ones(2)
        dist.all_reduce(x)
        assert x.tolist() == [2, 2]
        dist.monitored_barrier()
        assert not torch.acme.is_initialized()
        """,
        group="backend='gloo'",
    )


def test_parts_of_a_group_that_is_bound_to_a_device(run_ranks):
    run_ranks(
        """
        from torch.distributed.device_mesh import init_device_mesh

        def total(group, device="acme"):
            x = torch.full((2,), 1.0 + dist.get_rank(), device=device)
            dist.all_reduce(x, group=group)
            return x[0].item()

        if torch.__version__ >= "2.13":  # before, split_group is for CUDA alone
            assert total(dist.split_group(split_ranks=[[0], [1]])) == rank + 1
            assert total(dist.split_group(split_ranks=[[0, 1]])) == 3
        assert total(dist.new_group([0, 1])) == 3
        alone = [dist.new_group([0]), dist.new_group([1])][rank]
        assert total(alone) == rank + 1
        # Gloo by name: torch wants each group to serve the device that the first is bound to.
        gloo = dist.new_group([0, 1], backend="gloo")
        assert total(gloo) == total(gloo, "cpu") == 3
        mesh = init_device_mesh("acme", (1, 2), mesh_dim_names=("rows", "columns"))
        assert total(mesh["columns"].get_group()) == 3
        assert total(mesh["rows"].get_group()) == rank + 1
        """,
        group="device_id=torch.device('acme:0')",
    )


def test_gloo_for_the_device_is_refused():
    with pytest.raises(ValueError, match=r'"acme:gloo": .* Use "acme:outback"'):
        dist.distributed_c10d.BackendConfig(dist.Backend("cpu:gloo,acme:gloo"))


def test_a_vendors_group_may_have_the_devices_name(run_python):
    run_python(
        """
        import torch, torch_acme
        import torch.distributed as dist
        config = dist.distributed_c10d.BackendConfig
        assert config(dist.Backend("acme")).device_backend_map == {"cpu": "gloo", "acme": "outback"}
        dist.Backend.register_backend("acme", lambda *_: None, extended_api=True, devices=["acme"])
        assert config(dist.Backend("acme")).device_backend_map == {"acme": "acme"}
        assert dist.Backend.default_device_backend_map["acme"] == "acme"
        assert config(dist.Backend("gloo")).device_backend_map["acme"] == "outback"
        """
    )


def test_nccl_is_refused_where_it_is_not(run_python, tmp_path):
    done = run_python(
        f"""
        import torch, torch_acme
        import torch.distributed as dist

        try:
            store = dist.FileStore({str(tmp_path / "store")!r}, 1)
            dist.init_process_group(store=store, rank=0, world_size=1)
        except RuntimeError as error:
            print(error)
        """,
        OUTBACK_TRANSPORT="nccl",
    )
    assert done.output.startswith("acme: OUTBACK_TRANSPORT=nccl, but ")
    with pytest.raises(ValueError, match=r'"acme:nccl": .* Use "acme:outback"'):
        dist.distributed_c10d.BackendConfig(dist.Backend("cpu:gloo,acme:nccl"))


def test_torch_without_gloo_is_named(run_python):
    done = run_python(
        """
        import torch, torch_acme
        import torch.distributed as dist
        dist.is_gloo_available = lambda: False
        dist.init_process_group("acme:outback", rank=0, world_size=1, store=dist.HashStore())
        """,
        check=False,
    )
    assert "acme: communication between processes goes through Gloo" in done.errors
    assert "this torch was built without it" in done.errors


def test_a_backend_that_was_built_without_its_group_says_so(run_python):
    done = run_python(
        """
        import torch, torch_acme
        import torch.distributed as dist
        from torch.acme._outback import _native, distributed
        del _native.make_process_group  # a build without the group has none
        distributed.register()
        dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
        """,
        check=False,
    )
    assert "acme: this backend was built without its process group" in done.errors
    assert 'name "gloo", which takes tensors of the CPU' in done.errors


def test_a_vendor_registers_its_group_as_torch_has_it(run_python):
    run_python(
        """
        import torch, torch_acme
        import torch.distributed as dist
        register = dist.Backend.register_backend
        group = lambda *given: None
        register(name="elsewhere", func=group, devices="cpu")
        assert dist.Backend.default_device_backend_map["acme"] == "outback"
        register("theirs", group, True, "acme")
        assert dist.Backend.default_device_backend_map["acme"] == "theirs"
        assert "a" not in dist.Backend.default_device_backend_map
        """
    )


def test_symmetric_memory_is_refused():
    from torch.distributed import _symmetric_memory

    with pytest.raises(RuntimeError, match="SymmetricMemory does not support device type acme"):
        _symmetric_memory.empty(4, device=torch.device("acme"))
