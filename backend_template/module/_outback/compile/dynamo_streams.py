"""Streams and events that a compiled function makes are of the device's own classes.

Dynamo makes them before each run of the graph, and what comes after the graph, behind a break say,
gets these. It remembers the arguments of the constructor, and calls torch.Stream or torch.Event
with them, whatever the class was (torch/_dynamo/variables/streams.py).
"""

import sys
from collections.abc import Callable
from typing import Any

import torch

from .. import device_module


def build_stream(args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.Stream:
    stream: torch.Stream = device_module.Stream(*args, **kwargs)
    return stream


def build_event(args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.Event:
    event: torch.Event = device_module.Event(*args, **kwargs)
    return event


_OURS = (build_stream.__name__, build_event.__name__)  # those of torch._dynamo.utils


class _Codegen:
    """A PyCodegen that writes calls of the functions above in place of torch's."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._codegen(*args, **kwargs)

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._codegen, attribute)

    def load_import_from(self, module: str, function: str) -> None:
        self._codegen.load_import_from(__name__ if function in _OURS else module, function)


def register() -> None:
    objects = sys.modules["torch._dynamo.graph_bytecode_inputs"]
    register_of_torch: Callable[..., int] = objects.register_graph_created_object

    def register_graph_created_object(
        example_value: Any, construct_fn: Callable[[int, Any], None]
    ) -> int:
        construct = construct_fn
        if isinstance(example_value, (device_module.Stream, device_module.Event)):

            def construct(index: int, codegen: Any) -> None:
                construct_fn(index, _Codegen(codegen))

        return register_of_torch(example_value, construct)

    for module in (objects, sys.modules["torch._dynamo.variables.streams"]):
        setattr(module, register_of_torch.__name__, register_graph_created_object)
