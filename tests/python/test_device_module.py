"""torch.acme: devices, properties, memory."""

import gc
import io
import pickle
import threading
import uuid

import pytest
import torch

pytestmark = [pytest.mark.turns_on_memory, pytest.mark.turns_on_groups, pytest.mark.turns_on_driver]

REQUIRED = [
    "is_available",
    "device_count",
    "current_device",
    "set_device",
    "device",
    "device_of",
    "is_initialized",
    "init",
    "synchronize",
    "Stream",
    "Event",
    "StreamContext",
    "stream",
    "current_stream",
    "default_stream",
    "set_stream",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "initial_seed",
    "get_rng_state",
    "set_rng_state",
    "get_rng_state_all",
    "set_rng_state_all",
    "default_generators",
    "get_amp_supported_dtype",
    "memory_allocated",
    "max_memory_allocated",
    "memory_reserved",
    "max_memory_reserved",
    "memory_stats",
    "reset_peak_memory_stats",
    "reset_accumulated_memory_stats",
    "empty_cache",
    "mem_get_info",
    "get_device_name",
    "get_device_properties",
    "get_device_capability",
    "is_bf16_supported",
    "can_device_access_peer",
]
LOOKED_UP_BY_TORCH = ["_initialized", "_lazy_init", "_is_in_bad_fork", "_get_generator", "_utils"]


@pytest.mark.parametrize("name", REQUIRED + LOOKED_UP_BY_TORCH)
def test_the_name_is_there(name):
    assert hasattr(torch.acme, name)


@pytest.mark.parametrize("name", REQUIRED)
def test_public_names_are_listed_and_explained(name):
    assert name in torch.acme.__all__
    assert name in dir(torch.acme)
    assert getattr(torch.acme, name).__doc__


def test_all_is_what_can_be_imported():
    assert all(hasattr(torch.acme, name) for name in torch.acme.__all__)
    assert not any(name.startswith("_") for name in torch.acme.__all__)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"module 'torch\.acme' has no attribute 'nvtx'"):
        _ = torch.acme.nvtx
    assert getattr(torch.acme, "nvtx", None) is None


def test_classes_say_where_they_live():
    for cls in (torch.acme.device, torch.acme.Stream, torch.acme.Event, torch.acme.StreamContext):
        assert cls.__module__ == "torch.acme"
        assert pickle.loads(pickle.dumps(cls)) is cls


# ---- which device


def test_set_device_is_seen_everywhere(two_devices):
    for device in (1, "acme:1", torch.device("acme", 1)):
        torch.acme.set_device(0)
        torch.acme.set_device(device)
        assert torch.acme.current_device() == 1
        assert torch.accelerator.current_device_index() == 1
        assert torch.ones(1, device="acme").device.index == 1


def test_a_huge_index_is_no_negative_one():
    with pytest.raises(torch.AcceleratorError, match=str(2**70)):
        torch.acme.set_device(2**70)
    torch.acme.set_device(-(2**70))
    assert torch.acme.current_device() == 0


def test_a_negative_index_changes_nothing(two_devices):
    torch.acme.set_device(1)
    torch.acme.set_device(-1)
    assert torch.acme.current_device() == 1
    with torch.acme.device(-1):
        assert torch.acme.current_device() == 1


@pytest.mark.parametrize(
    "call",
    [
        torch.acme.set_device,
        torch.acme.device,
        torch.acme.synchronize,
        torch.acme.get_device_properties,
        torch.acme.get_device_name,
        torch.acme.get_device_capability,
        torch.acme.current_stream,
        torch.acme.default_stream,
        torch.acme.Stream,
        torch.acme.memory_allocated,
        torch.acme.memory_stats,
        torch.acme.reset_peak_memory_stats,
        torch.acme.mem_get_info,
        torch.acme.get_rng_state,
        torch.acme._get_generator,
    ],
    ids=lambda call: call.__name__,
)
def test_every_function_refuses_what_is_no_device(call):
    for device, error in [(99, torch.AcceleratorError), ("cuda:0", ValueError), (1.5, TypeError)]:
        with pytest.raises(error) as caught:
            call(device)
        assert "Exception raised from" not in str(caught.value)
    assert torch.acme.current_device() == 0


def test_the_device_is_the_threads_own(two_devices):
    torch.acme.set_device(1)
    seen = []
    thread = threading.Thread(target=lambda: seen.append(torch.acme.current_device()))
    thread.start()
    thread.join()
    assert seen == [0]
    assert torch.acme.current_device() == 1


@pytest.mark.parametrize("argument", [1, "acme:1", torch.device("acme", 1)])
def test_the_context_restores_the_device(two_devices, argument):
    with torch.acme.device(argument) as entered:
        assert entered is None
        assert torch.acme.current_device() == 1
    assert torch.acme.current_device() == 0


def test_the_context_restores_after_an_error_and_when_nested(two_devices):
    with pytest.raises(LookupError):
        with torch.acme.device(1):
            raise LookupError
    assert torch.acme.current_device() == 0
    context = torch.acme.device(1)
    with context:
        torch.acme.set_device(0)
        with context:  # once more, from another device
            assert torch.acme.current_device() == 1
        assert torch.acme.current_device() == 0
    assert torch.acme.current_device() == 0
    with context:
        with context:  # once more, from its own
            pass
        assert torch.acme.current_device() == 1
    assert torch.acme.current_device() == 0
    assert context.idx == 1 and context.prev_idx == -1


def test_leaving_what_was_not_entered_is_an_error():
    with pytest.raises(RuntimeError, match="not entered"):
        torch.acme.device(0).__exit__(None, None, None)


def test_device_of_follows_a_tensor(two_devices):
    with torch.acme.device_of(torch.ones(1, device="acme:1")):
        assert torch.acme.current_device() == 1
    with torch.acme.device_of(torch.ones(1, device="acme:1").untyped_storage()):
        assert torch.acme.current_device() == 1
    with torch.acme.device_of(torch.ones(1)):
        assert torch.acme.current_device() == 0
    assert issubclass(torch.acme.device_of, torch.acme.device)


# ---- the start


def test_the_start_is_lazy_and_told_to_torch(run_python):
    run_python(
        """
        import torch, torch_acme
        assert torch.acme.is_available() and torch.acme.device_count() > 0
        torch.acme.set_device(torch.acme.device_count() - 1)
        torch.manual_seed(1)
        torch.acme.memory_allocated()
        torch.acme.empty_cache()
        torch.ones(2).is_acme
        assert not torch.acme.is_initialized() and not torch.acme._initialized
        torch.acme.init()
        assert torch.acme.is_initialized() and torch.acme._initialized is True
        torch.acme.init()
        torch.acme.synchronize()
        torch.accelerator.synchronize()
        """
    )


def test_the_first_tensor_starts_it(run_python):
    run_python(
        """
        import torch, torch_acme
        torch.empty(1, device="acme")
        assert torch.acme.is_initialized()
        """
    )


# ---- what a device says of itself


def test_properties():
    it = torch.acme.get_device_properties(0)
    assert it.name == torch.acme.get_device_name() and it.name
    assert it.total_memory > 0
    assert it.multi_processor_count >= 0
    assert torch.acme.get_device_capability() == (it.major, it.minor)
    assert it.uuid is None or isinstance(it.uuid, uuid.UUID)
    assert it.name in repr(it)
    assert isinstance(it.is_integrated, bool)
    with pytest.raises(AttributeError):
        it.name = "other"


def test_dtypes():
    dtypes = torch.acme.get_amp_supported_dtype()
    assert all(isinstance(dtype, torch.dtype) for dtype in dtypes)
    assert torch.acme.is_bf16_supported() is True
    native = torch.acme.is_bf16_supported(including_emulation=False)
    assert native is (torch.bfloat16 in dtypes)


def test_autocast_asks_the_module():
    dtypes = torch.acme.get_amp_supported_dtype()
    if not dtypes:
        pytest.skip("this backend has no autocast")
    with torch.autocast("acme", dtype=dtypes[0]):
        assert torch.is_autocast_enabled("acme")
        assert torch.get_autocast_dtype("acme") == dtypes[0]


# ---- memory


def test_memory_is_counted_per_device():
    before = torch.acme.memory_allocated()
    kept = torch.empty(1 << 20, dtype=torch.uint8, device="acme")
    assert torch.acme.memory_allocated() - before >= kept.nbytes
    assert torch.acme.memory_allocated("acme:0") == torch.acme.memory_allocated(0)
    assert torch.acme.memory_reserved() >= torch.acme.memory_allocated()
    assert torch.accelerator.memory_allocated() == torch.acme.memory_allocated()
    del kept
    assert torch.acme.memory_allocated() == before


def test_memory_of_another_device_is_its_own(two_devices):
    before = torch.acme.memory_allocated(0)
    kept = torch.empty(1 << 20, dtype=torch.uint8, device="acme:1")
    assert torch.acme.memory_allocated(0) == before
    assert torch.acme.memory_allocated(1) >= kept.nbytes


def test_peaks_can_be_reset():
    del_me = torch.empty(1 << 20, dtype=torch.uint8, device="acme")
    assert torch.acme.max_memory_allocated() >= torch.acme.memory_allocated()
    del del_me
    torch.acme.reset_peak_memory_stats()
    assert torch.acme.max_memory_allocated() == torch.acme.memory_allocated()
    assert torch.acme.max_memory_reserved() == torch.acme.memory_reserved()


def test_stats_have_cudas_keys():
    gc.collect()  # what other tests left in cycles would go between the two questions
    torch.empty(1, device="acme")
    stats = torch.acme.memory_stats()
    assert stats["allocated_bytes.all.current"] == torch.acme.memory_allocated()
    assert stats["reserved_bytes.all.peak"] == torch.acme.max_memory_reserved()
    torch.acme.reset_accumulated_memory_stats()
    assert torch.acme.memory_stats()["allocated_bytes.all.freed"] == 0


def test_the_cache_can_be_emptied():
    torch.acme.synchronize()
    torch.empty(8 << 20, dtype=torch.uint8, device="acme")
    torch.acme.empty_cache()
    assert torch.acme.memory_reserved() <= torch.acme.memory_allocated() + (8 << 20) - 1


# ---- who else reads the module


@pytest.mark.parametrize("location", ["acme", "acme:0", torch.device("acme", 0), "cpu"])
def test_torch_load_maps_to_the_device(location):
    file = io.BytesIO()
    torch.save({"x": torch.arange(3).acme()}, file)
    file.seek(0)
    x = torch.load(file, map_location=location)["x"]
    assert x.device.type == torch.device(location).type
    assert x.tolist() == [0, 1, 2]


def test_torch_load_reports_a_missing_device_in_its_own_words():
    file = io.BytesIO()
    torch.save(torch.ones(1), file)
    file.seek(0)
    with pytest.raises(RuntimeError, match=r"map_location"):
        torch.load(file, map_location="acme:77")


def test_fork_rng_and_checkpoint_find_what_they_need():
    state = torch.acme.get_rng_state()
    with torch.random.fork_rng(devices=[0], device_type="acme"):
        torch.rand(2, device="acme")
    assert torch.equal(torch.acme.get_rng_state(), state)
    from torch.utils.checkpoint import checkpoint

    x = torch.ones(64, device="acme", requires_grad=True)
    out = checkpoint(lambda t: torch.nn.functional.dropout(t, 0.5), x, use_reentrant=False)
    out.sum().backward()
    assert torch.equal(x.grad, out.detach())  # the same elements were dropped in the replay
