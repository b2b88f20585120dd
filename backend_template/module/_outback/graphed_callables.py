"""make_graphed_callables: functions and modules whose forward and backward passes are replays of
graphs. It follows torch.cuda's (torch/cuda/graphs.py), most of its messages included.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.autograd.function import once_differentiable
from torch.utils import _pytree

from . import device_module, name
from .graphs import DeviceGraph, graph

Tensors = tuple[torch.Tensor, ...]


def _with_grad(tensors: Iterable[torch.Tensor]) -> Tensors:
    return tuple(tensor for tensor in tensors if tensor.requires_grad)


def _copy_into(fixed: torch.Tensor, given: torch.Tensor) -> None:
    """Copies a tensor to where the graph reads it, unless it is there already."""
    if fixed.data_ptr() != given.data_ptr():
        fixed.copy_(given)


def _detached(tensors: Iterable[torch.Tensor | None]) -> tuple[torch.Tensor | None, ...]:
    """The graph's own tensors: the torch.autograd.Function gives each call's results a history."""
    return tuple(tensor if tensor is None else tensor.detach() for tensor in tensors)


def _check_module(module: torch.nn.Module) -> None:
    """A replay runs no hooks and gives no gradient to a buffer."""
    if module._backward_hooks or module._forward_hooks or module._forward_pre_hooks:
        raise RuntimeError(
            "Modules must not have hooks registered at the time they are passed. However, "
            "registering hooks on modules after passing them through make_graphed_callables is "
            "allowed."
        )
    if any(buffer.requires_grad for buffer in module.buffers()):
        raise RuntimeError(
            "In any torch.nn.Module passed to make_graphed_callables, only parameters may be "
            "trainable. All buffers must have requires_grad=False."
        )


class _Graphed:
    """A callable and the graphs that are made of it."""

    outputs: Tensors
    output_spec: _pytree.TreeSpec
    grad_outputs: tuple[torch.Tensor | None, ...]  # None for an output that requires no gradient
    grad_inputs: tuple[torch.Tensor | None, ...]  # None for an input that gets no gradient

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.function = function
        self.arguments = arguments
        self.parameters: Tensors = ()
        if isinstance(function, torch.nn.Module):
            _check_module(function)
            self.parameters = tuple(function.parameters())
        self.user_inputs: Tensors = tuple(_pytree.arg_tree_leaves(*arguments))
        # A value of another type would be captured as it is now, and later calls could not change
        # it.
        if not all(isinstance(leaf, torch.Tensor) for leaf in self.user_inputs):
            raise RuntimeError(
                "In the beta API, sample_args for each callable must contain only Tensors. Other "
                "types are not allowed."
            )
        self.inputs = self.user_inputs + self.parameters
        self.forward_graph = DeviceGraph()
        self.backward_graph = DeviceGraph()

    def _gradients(self, outputs: Tensors, incoming: Tensors, allow_unused: bool) -> Any:
        return torch.autograd.grad(
            outputs=outputs,
            inputs=_with_grad(self.inputs),
            grad_outputs=incoming,
            only_inputs=True,
            allow_unused=allow_unused,
        )

    def warm_up(self, iterations: int, allow_unused: bool) -> None:
        """Runs forward and backward before the capture, so that what happens only once, such as the
        allocation of a workspace, is not captured."""
        for _ in range(iterations):
            outputs = _with_grad(_pytree.tree_leaves(self.function(*self.arguments)))
            if outputs:
                self._gradients(outputs, tuple(map(torch.empty_like, outputs)), allow_unused)

    def capture_forward(self, options: dict[str, Any]) -> None:
        with graph(self.forward_graph, **options):
            outputs = self.function(*self.arguments)
        flat, self.output_spec = _pytree.tree_flatten(outputs)
        self.outputs = tuple(flat)

    def capture_backward(self, options: dict[str, Any], allow_unused: bool) -> None:
        outputs = _with_grad(self.outputs)
        incoming = tuple(map(torch.empty_like, outputs))
        outgoing: Any = ()
        if outputs:
            with graph(self.backward_graph, **options):
                outgoing = self._gradients(outputs, incoming, allow_unused)
        # Spread over all outputs and inputs, so that backward finds them by index.
        following = iter(incoming)
        self.grad_outputs = tuple(
            next(following) if output.requires_grad else None for output in self.outputs
        )
        following = iter(outgoing)
        self.grad_inputs = tuple(
            next(following) if outgoing and each.requires_grad else None for each in self.inputs
        )

    def replay_forward(self, *inputs: torch.Tensor) -> Any:
        # Parameters are not copied: the graph reads the module's own.
        for fixed, given in zip(self.user_inputs, inputs, strict=False):
            _copy_into(fixed, given)
        self.forward_graph.replay()
        return _detached(self.outputs)

    def replay_backward(self, *gradients: torch.Tensor) -> Any:
        for fixed, given in zip(self.grad_outputs, gradients, strict=True):
            if fixed is not None:
                _copy_into(fixed, given)
        self.backward_graph.replay()
        return _detached(self.grad_inputs)


def _make_function(graphed: _Graphed) -> type[torch.autograd.Function]:
    class Graphed(torch.autograd.Function):
        """One callable's replays."""

        @staticmethod
        def forward(ctx: Any, *inputs: torch.Tensor) -> Any:
            return graphed.replay_forward(*inputs)

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
            return graphed.replay_backward(*gradients)

    Graphed.__module__ = f"torch.{name}.graphs"
    return Graphed


def _make_replaying(graphed: _Graphed) -> Callable[..., Any]:
    """Makes the function that is called in place of the callable."""
    function = _make_function(graphed)

    def replaying(*arguments: Any) -> Any:
        inputs = _pytree.arg_tree_leaves(*arguments)
        if len(inputs) != len(graphed.user_inputs):
            raise RuntimeError(
                f"the callable was graphed with {len(graphed.user_inputs)} tensors, and got "
                f"{len(inputs)}"
            )
        outputs = function.apply(*inputs, *graphed.parameters)
        return _pytree.tree_unflatten(outputs, graphed.output_spec)

    return replaying


def _finish(graphed: _Graphed) -> Callable[..., Any]:
    """Returns a function's replaying form, or the module itself with a new `forward`, which replays
    in the training mode that was captured and runs the original in the other one."""
    module = graphed.function
    replaying = _make_replaying(graphed)
    if not isinstance(module, torch.nn.Module):
        return replaying
    original, was_training = module.forward, module.training

    def forward(*arguments: Any, **named: Any) -> Any:
        runs = replaying if module.training == was_training else original
        return runs(*arguments, **named)

    module.forward = forward
    return module


def check_autocast() -> None:
    if torch.is_autocast_enabled(name) and torch.is_autocast_cache_enabled():
        raise RuntimeError(
            "make_graphed_callables does not support the autocast caching. Please set "
            "`cache_enabled=False`."
        )


def graph_all(
    callables: Any,
    sample_args: Any,
    warmups: int,
    allow_unused: bool,
    options: dict[str, Any],
) -> Any:
    """`options` are arguments of `graph`."""
    # One callable and a tuple of callables are both allowed, as with torch.cuda.
    is_one = not isinstance(callables, tuple)
    functions = (callables,) if is_one else callables
    arguments = (sample_args,) if is_one else tuple(sample_args)
    if len(functions) != len(arguments):
        raise ValueError(
            f"make_graphed_callables: {len(functions)} callables and {len(arguments)} tuples of "
            "arguments"
        )
    pairs = zip(functions, arguments, strict=True)
    every = [_Graphed(function, tuple(given)) for function, given in pairs]
    if options["pool"] is None:
        options["pool"] = device_module.graph_pool_handle()

    device_module.synchronize()
    with device_module.stream(device_module.Stream()):
        for graphed in every:
            graphed.warm_up(warmups, allow_unused)
    device_module.synchronize()
    # In the order in which they will run, the backward passes reversed, since all share one pool:
    # memory that one capture has freed is used by a later one.
    for graphed in every:
        graphed.capture_forward(options)
    for graphed in reversed(every):
        graphed.capture_backward(options, allow_unused)
    made = tuple(map(_finish, every))
    return made[0] if is_one else made
