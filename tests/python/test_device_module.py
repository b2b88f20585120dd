"""torch.acme: what names a device, its start, and what a device says of itself."""

import pickle
import uuid

import pytest
import torch

pytestmark = [pytest.mark.turns_on_memory, pytest.mark.turns_on_groups, pytest.mark.turns_on_driver]


def test_classes_say_where_they_live():
    for cls in (torch.acme.device, torch.acme.Stream, torch.acme.Event, torch.acme.StreamContext):
        assert cls.__module__ == "torch.acme"
        assert pickle.loads(pickle.dumps(cls)) is cls


# ---- which device


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
