"""The device module, torch.acme."""

from __future__ import annotations

import atexit
import os

import torch

from .defect import defect


@defect("process", "the_module_knows_of_bad_forks", says="_is_in_bad_fork() is false", blind=True)
def fork_is_not_noticed() -> None:
    """A child of a fork uses the device that its parent has initialized."""
    torch.acme._is_in_bad_fork = lambda: False


@defect("device_module", "devices_are_exchanged", says="not implemented")
def exchange_throws() -> None:
    """_exchange_device(), which torch.Stream and the guards of Python use, raises."""

    def exchange(index):
        raise RuntimeError("not implemented")

    torch.acme._exchange_device = exchange


@defect("device_module", "the_count_is_of_devices_that_work")
def one_device_too_many_is_counted() -> None:
    """device_count() counts a device that is not there."""
    was = torch.acme.device_count
    torch.acme.device_count = lambda: was() + 1


@defect("device_module", "set_device_takes_every_form", says="is 0, not 1")
def current_device_is_zero() -> None:
    """current_device() is 0 always."""
    torch.acme.current_device = lambda: 0


@defect("device_module", "the_context_restores_the_device", says="afterwards is 1, not 0")
def device_context_is_not_left() -> None:
    """`with torch.acme.device(i)` leaves i current when it ends."""
    torch.acme.device.__exit__ = lambda self, *_: None


@defect("device_module", "properties_describe_each_device")
def second_device_has_the_firsts_properties() -> None:
    """get_device_properties() describes device 0 only."""
    was = torch.acme.get_device_properties
    torch.acme.get_device_properties = lambda device=None: was(0)


@defect("device_module", "the_name_is_of_the_properties", says="'another device'")
def name_is_another_devices() -> None:
    """get_device_name() says something else than the properties."""
    torch.acme.get_device_name = lambda device=None: "another device"


@defect(
    *("process", "importing_changes_no_setting"),
    says="torch.get_default_dtype() is torch.float64",
    level="standard",
    slow=True,
)
def import_sets_the_default_dtype() -> None:
    """The import of the backend makes float64 the default dtype."""
    torch.set_default_dtype(torch.float64)


@defect("process", "the_programs_own_status_is_kept", level="standard", slow=True)
def exit_status_is_lost() -> None:
    """At the end of the interpreter the process exits with 0."""
    atexit.register(os._exit, 0)
