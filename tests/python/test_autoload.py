"""`import torch` alone loads the backend."""


def test_import_torch_is_enough(run_python):
    run_python(
        """
        import torch
        assert torch.acme.is_available()
        assert torch.ones(1).acme().is_acme
        """
    )


def test_autoload_can_be_switched_off(run_python):
    run_python(
        """
        import torch
        assert not hasattr(torch, "acme")
        import torch_acme
        assert torch.ones(1).acme().is_acme
        """,
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )


def test_the_package_can_be_imported_first(run_python):
    run_python(
        """
        import torch_acme
        import torch
        assert torch.ones(1).acme().is_acme
        """
    )
