"""What the source of one file's tests is told; without torch, for who starts the workers."""

from __future__ import annotations

import dataclasses
import json

from ..suite_settings import COMPARING

SOURCE = f"{__package__}.source"
# What the workers share. A worker with a backend makes PyTorch's helpers by itself: when they are
# imported they look whether there is one.
SHARED_ON_DEVICE = ("torch", "numpy", COMPARING)
SHARED_ON_CPU = (
    *("torch", "numpy", "torch.testing._internal.common_methods_invocations"),
    *("torch.testing._internal.common_modules", "torch.testing._internal.common_optimizers"),
)
CPU = "cpu"


@dataclasses.dataclass(frozen=True)
class FileSettings:
    """`device` is CPU for the tests that a backend's are compared with; `imports` are then none."""

    folder: str
    file: str
    device: str
    imports: tuple[str, ...] = ()

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> FileSettings:
        fields = json.loads(text)
        return cls(**(fields | {"imports": tuple(fields["imports"])}))
