"""Lets libraries that keep lists of devices find this one, where OUTBACK_INTEGRATIONS says so. The
package torch-outback has what that takes, and need not be installed."""

import importlib
import warnings

from . import _native, name
from .import_hook import when_imported


def enable_wanted() -> None:
    wanted = _native.variable("OUTBACK_INTEGRATIONS")
    if wanted is None:
        return
    try:
        integrations = importlib.import_module("torch_outback.integrations")
    except ModuleNotFoundError as error:
        warnings.warn(
            f"{name}: OUTBACK_INTEGRATIONS={wanted} changes nothing without the package "
            f"torch-outback ({error}): pip install torch-outback",
            stacklevel=2,
        )
        return
    # Its own import may be what imports torch.
    when_imported(integrations.__name__, lambda: integrations.enable_wanted(wanted))
