"""When torch's compiler learns of the device, and what its workers need."""

import pytest

pytestmark = pytest.mark.any_runtime


def test_the_interface_is_made_with_the_compiler(run_python):
    run_python(
        """
        import sys
        import torch, torch_acme
        wanted = lambda: {
            finder._wanted for finder in sys.meta_path if type(finder).__name__ == "_Watch"
        }
        before = wanted()
        assert "torch._dynamo" not in sys.modules
        assert "torch._dynamo.device_interface" in before
        import torch._dynamo.device_interface as interfaces
        # Each that was imported has had its action, and no other one.
        assert wanted() == {name for name in before if name not in sys.modules}
        assert interfaces.__spec__.name == "torch._dynamo.device_interface"
        interface = interfaces.get_interface_for_device("acme")
        assert interface is interfaces.get_interface_for_device("acme:0")
        for wrong in (f"acme:{torch.acme.device_count()}", "acme:", "acme:x"):
            try:
                interfaces.get_interface_for_device(wrong)
            except NotImplementedError as error:
                assert str(error) == f"No interface for device {wrong}"
            else:
                raise AssertionError(wrong)
        assert interface is interfaces.get_interface_for_device(torch.device("acme", 0))
        """
    )


def test_who_only_asks_for_the_module_takes_nothing_away(run_python):
    run_python(
        """
        import importlib.util
        import torch, torch_acme
        for _ in range(2):
            assert importlib.util.find_spec("torch._dynamo.device_interface").loader is not None
        from torch._dynamo.device_interface import get_interface_for_device
        assert get_interface_for_device("acme").device_count() == torch.acme.device_count()
        """
    )


FAILING = {
    "the search": """
        from importlib.machinery import BuiltinImporter

        class Interrupted:
            def find_spec(self, wanted, *_):
                if wanted == name:
                    sys.meta_path.remove(self)
                    raise KeyboardInterrupt

        sys.meta_path.insert(sys.meta_path.index(BuiltinImporter), Interrupted())
        """,
    "the execution": """
        from importlib.machinery import SourceFileLoader
        execute = SourceFileLoader.exec_module

        def interrupted(loader, module):
            if module.__name__ == name:
                SourceFileLoader.exec_module = execute
                raise KeyboardInterrupt
            execute(loader, module)

        SourceFileLoader.exec_module = interrupted
        """,
}


@pytest.mark.parametrize("what", FAILING)
def test_an_import_that_failed_may_be_tried_again(run_python, what):
    run_python(
        f"""
        import sys
        import torch, torch_acme
        name = "torch._inductor.codegen.cpp"
        {FAILING[what]}
        try:
            import torch._inductor.codegen.cpp
        except KeyboardInterrupt:
            pass
        else:
            raise AssertionError("imported")
        import torch._inductor.codegen.cpp
        from torch._inductor.codegen.common import get_scheduling_for_device
        assert get_scheduling_for_device("acme") is not None
        """
    )


def test_the_compilers_workers_need_no_device(run_python):
    run_python(
        """
        import os, torch, torch_acme
        from torch._dynamo.device_interface import get_interface_for_device
        worker = get_interface_for_device("acme").Worker
        name = worker.get_device_properties(0).name  # read in the parent
        child = os.fork()
        if child == 0:
            worker.set_device(0)
            ok = worker.get_device_properties().name == name and worker.current_device() == 0
            os._exit(0 if ok else 1)
        assert os.waitpid(child, 0)[1] == 0
        """
    )
