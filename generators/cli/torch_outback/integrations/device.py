"""Which device the libraries are to find."""

from dataclasses import dataclass
from types import ModuleType

import torch

from ..refused import Refused


@dataclass(frozen=True)
class Device:
    name: str  # "acme"
    module: ModuleType  # torch.acme

    def of(self, index: int) -> torch.device:
        return torch.device(self.name, index)


def find(wanted: str | None) -> Device:
    """The device of the backend that is loaded, which is the one that is `wanted`, if any is."""
    name = torch._C._get_privateuse1_backend_name()
    module = getattr(torch, name, None)
    if module is None:
        raise Refused(
            f"no backend is loaded{f', so there is no {wanted}' if wanted else ''}: import the "
            "backend's package first, such as torch_acme"
        )
    if wanted not in (None, name):
        raise Refused(
            f"{wanted} is not the device of the backend that is loaded, which is {name}: name "
            f"{name}, or import the package of {wanted} before torch, with OUTBACK_AUTOLOAD=0"
        )
    if not hasattr(module, "_outback"):
        raise Refused(f"the backend of {name} was not made with Outback, which these are for")
    if wanted is None and torch.cuda.is_available():
        raise Refused(
            f"torch.cuda has devices too: say that you mean {name}, with enable(device={name!r}) "
            f"or OUTBACK_INTEGRATIONS={name}, or hide them from this process with "
            "CUDA_VISIBLE_DEVICES="
        )
    return Device(name, module)
