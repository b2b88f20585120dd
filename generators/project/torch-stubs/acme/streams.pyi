# Made by ./dev docs from the module itself: what type checkers see of torch.acme.

import torch
from torch.acme import Event as Event, ExternalStream as ExternalStream, Stream as Stream

__all__ = [
    "Event",
    "ExternalStream",
    "Stream",
]

