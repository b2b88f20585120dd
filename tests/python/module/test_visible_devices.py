"""ACME_VISIBLE_DEVICES chooses among the runtime's devices.

How the list is read is tested in tests/layers/visible_devices_test.cpp.
"""

import pytest
import torch

pytestmark = pytest.mark.any_runtime

COUNT = "import torch, torch_acme; print(torch.acme.device_count(), torch.acme.is_available())"


@pytest.mark.parametrize(
    ("visible", "count"),
    [("0", 1), ("1,0", 2), ("1", 1), ("", 0), ("-1", 0), ("0,0", 0), ("1,7,0", 1), ("GPU-x", 0)],
)
def test_the_count_is_that_of_the_list(run_python, two_devices, visible, count):
    done = run_python(COUNT, ACME_VISIBLE_DEVICES=visible)
    assert done.output == f"{count} {count > 0}"


def test_without_the_variable_all_are_visible(run_python, monkeypatch):
    monkeypatch.delenv("ACME_VISIBLE_DEVICES", raising=False)
    assert run_python(COUNT).output == f"{torch.acme.device_count()} True"


def test_it_is_read_before_the_first_count_and_never_again(run_python, two_devices):
    run_python(
        """
        import os
        import torch, torch_acme
        os.environ["ACME_VISIBLE_DEVICES"] = "1"  # torch and the backend are imported
        assert torch.acme.device_count() == torch.accelerator.device_count() == 1
        os.environ["ACME_VISIBLE_DEVICES"] = "0,1"
        assert torch.acme.device_count() == 1
        torch.ones(2, device="acme:0").add(1).cpu()
        try:
            torch.ones(1, device="acme:1")
        except torch.AcceleratorError as error:
            assert "ACME_VISIBLE_DEVICES=1" in str(error), error
        else:
            raise AssertionError("a hidden device was used")
        """
    )


def test_where_all_are_hidden_the_error_names_the_variable(run_python):
    run_python(
        """
        import torch, torch_acme
        assert not torch.acme.is_available() and torch.acme.device_count() == 0
        assert not torch.acme.is_bf16_supported()
        for call in (torch.acme.init, lambda: torch.ones(1, device="acme")):
            try:
                call()
            except RuntimeError as error:
                assert "no acme device is available (ACME_VISIBLE_DEVICES=)" in str(error), error
            else:
                raise AssertionError("started without a device")
        """,
        ACME_VISIBLE_DEVICES="",
    )


def test_devices_work_under_their_new_numbers(run_python, two_devices):
    """Copies, streams, events and pinned memory take the same way through the table."""
    run_python(
        """
        import torch, torch_acme
        first, second = torch.arange(5.0, device="acme:0"), torch.arange(5.0).acme(1)
        assert (first + second.to("acme:0")).tolist() == [0, 2, 4, 6, 8]
        stream = torch.acme.Stream(1)
        with torch.acme.stream(stream):
            third = second * 3
            done = stream.record_event()
        done.synchronize()
        assert third.tolist() == [0, 3, 6, 9, 12]
        torch.acme.synchronize(0)
        assert torch.acme.memory_allocated(0) > 0 and torch.acme.memory_allocated(1) > 0
        """,
        ACME_VISIBLE_DEVICES="1,0",
    )


def test_a_forked_child_counts_what_its_parent_saw(run_python, two_devices):
    run_python(
        """
        import os
        import torch, torch_acme
        assert torch.acme.device_count() == 1
        child = os.fork()
        if child == 0:
            os._exit(0 if torch.acme.device_count() == 1 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        """,
        ACME_VISIBLE_DEVICES="1",
    )


@pytest.mark.turns_on_driver
def test_a_uuid_names_its_device(run_python, two_devices):
    uuids = [torch.acme.get_device_properties(index).uuid for index in range(2)]
    if None in uuids:
        pytest.skip("this runtime's devices have no UUIDs")
    run_python(
        f"""
        import torch, torch_acme
        assert torch.acme.device_count() == 2
        uuids = [str(torch.acme.get_device_properties(i).uuid) for i in range(2)]
        assert uuids == ["{uuids[1]}", "{uuids[0]}"], uuids
        """,
        ACME_VISIBLE_DEVICES=f"GPU-{uuids[1]},GPU-{uuids[0]}",
    )


def test_threads_that_count_first_together_see_one_selection(run_python, two_devices):
    run_python(
        """
        import threading
        import torch, torch_acme
        barrier, seen = threading.Barrier(8), []
        def use():
            barrier.wait()
            seen.append((torch.acme.device_count(), torch.ones(2, device="acme:1").tolist()))
        threads = [threading.Thread(target=use) for _ in range(8)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert seen == [(2, [1, 1])] * 8, seen
        """,
        ACME_VISIBLE_DEVICES="1,0",
    )
