"""What is asked for before the backend is started runs at its start; an error says whence."""

import pytest
import torch

pytestmark = pytest.mark.any_runtime


def test_a_call_runs_at_once_where_the_backend_is_started():
    torch.acme.init()
    seen = []
    torch.acme._lazy_call(lambda: seen.append(1))
    assert seen == [1]


def test_calls_wait_for_the_start_and_keep_their_order(run_python):
    run_python(
        """
        import torch, torch_acme
        seen = []
        call = lambda what: torch.acme._lazy_call(lambda: seen.append(what))
        call("first")
        def reentrant():
            torch.acme._lazy_init()
            torch.acme.synchronize()
            assert not torch.acme.is_initialized() and torch.acme._initialized is False
            seen.append("second")
            call("queued by a call")
        torch.acme._lazy_call(reentrant)
        call("third")
        assert seen == [] and not torch.acme.is_initialized()
        torch.empty(1, device="acme")
        assert seen == ["first", "second", "third", "queued by a call"], seen
        assert torch.acme.is_initialized() and torch.acme._initialized is True
        torch.acme.init()
        assert len(seen) == 4
        """
    )


@pytest.mark.parametrize(
    "use",
    [
        "torch.ones(1).acme()",
        "torch.ones(1).to('acme')",
        "torch.tensor([1], device='acme')",
        "torch.nn.Linear(1, 1).acme()",
        "torch.UntypedStorage(4).acme()",
        "torch.UntypedStorage(4, device='acme')",
        "torch.acme.FloatTensor(2)",
        "torch.acme.Stream()",
        "torch.acme.synchronize()",
        "torch.acme.get_device_properties()",
        "torch.accelerator.current_stream()",
        "torch.accelerator.set_device_index(0)",
    ],
)
def test_whatever_uses_the_device_first_runs_them(run_python, use):
    run_python(
        f"""
        import torch, torch_acme
        seen = []
        torch.acme._lazy_call(lambda: seen.append(1))
        {use}
        assert seen == [1] and torch.acme.is_initialized()
        """
    )


def test_the_last_seed_of_each_kind_comes_last(run_python):
    run_python(
        """
        import torch, torch_acme
        seen = []
        def call(what, **kind):
            torch.acme._lazy_call(lambda: seen.append(what), **kind)
        call("one, old", seed=True)
        call("one", seed=True)
        call("all", seed_all=True)
        call("other")
        torch.acme.init()
        assert seen == ["other", "one", "all"], seen
        """
    )


def test_a_deferred_error_shows_where_it_was_queued(run_python):
    run_python(
        """
        import torch, torch_acme

        def asks_for_it():
            torch.acme._lazy_call(lambda: 1 / 0)

        asks_for_it()
        for start in (torch.acme.init, lambda: torch.ones(1, device="acme"), torch.acme.init):
            try:
                start()
            except torch.acme.DeferredCallError as error:
                text = str(error)
                assert "failed lazily at initialization with error: division by zero" in text
                assert "acme call was originally invoked at:" in text and "asks_for_it" in text
                assert isinstance(error.__cause__, ZeroDivisionError)
            else:
                raise AssertionError("no error")
            assert not torch.acme.is_initialized()
        """
    )


def test_what_ends_a_program_is_no_deferred_error(run_python):
    run_python(
        """
        import torch, torch_acme
        def stop():
            raise SystemExit(0)
        torch.acme._lazy_call(stop)
        torch.acme.init()
        raise AssertionError("went on")
        """
    )


def test_another_thread_waits_until_the_calls_are_done(run_python):
    run_python(
        """
        import threading
        import torch, torch_acme
        entered, seen = threading.Event(), []
        def slow():
            entered.set()
            waiter.join(0.05)  # longer than it takes it to get there; it must not have gone on
            seen.append("call")
        def wait():
            entered.wait()
            torch.acme.init()
            seen.append("thread")
        waiter = threading.Thread(target=wait)
        torch.acme._lazy_call(slow)
        waiter.start()
        torch.acme.init()
        waiter.join()
        assert seen == ["call", "thread"], seen
        """
    )


def test_a_forked_child_of_a_started_parent_runs_nothing(run_python):
    run_python(
        """
        import os
        import torch, torch_acme
        torch.acme.init()
        child = os.fork()
        if child == 0:
            torch.acme._lazy_call(lambda: os._exit(2))
            try:
                torch.acme.init()
            except RuntimeError as error:
                os._exit(0 if "Cannot re-initialize acme in forked subprocess" in str(error) else 3)
            os._exit(4)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        """
    )


def test_the_error_is_an_exception_of_the_module():
    assert issubclass(torch.acme.DeferredCallError, Exception)
    assert torch.acme.DeferredCallError.__module__ == "torch.acme"
    with pytest.raises(TypeError):
        torch.acme._lazy_call()
