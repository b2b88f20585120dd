"""Graphs: the class, torch.<name>.graph and make_graphed_callables."""

import functools
import gc
from typing import Any, Literal

import torch

from . import _native, device_module, name, twin

_capture_streams: dict[int, Any] = {}  # by device, for captures that name no stream


def refuse_annotations(asked_for: bool) -> None:
    if asked_for:
        raise NotImplementedError(
            f"{name}: enable_annotations: it marks the kernels of CUDA's graphs; expected False"
        )


def graph_pool_handle() -> Any:
    """A pool that graphs may share, for their `capture_begin` or for `graph`."""
    own = twin.member("graph_pool_handle") if device_module.is_initialized() else None
    return own() if own else _native.new_pool_id()


def pool_id(pool: Any) -> tuple[int, int]:
    """Of what names a pool of graphs; (0, 0) for None, a new one."""
    answer = (0, 0) if pool is None else getattr(pool, "id", pool)
    if not isinstance(answer, tuple):
        raise TypeError(
            "expected a pool of graphs: None, what graph_pool_handle() or a graph's pool() "
            f"answered, or a MemPool; got {type(pool).__name__}"
        )
    return answer


@functools.cache
def _taking_our_generators(graph_class: type) -> type:
    """torch.cuda's class reads any generator as one of CUDA's."""

    class TwinGraph(graph_class):
        def register_generator_state(self, generator: torch.Generator) -> None:
            if generator.device.type == name:
                generator = _native.twin_generator(generator)
            super().register_generator_state(generator)

    TwinGraph.__name__ = TwinGraph.__qualname__ = graph_class.__name__
    return TwinGraph


class DeviceGraph(_native.Graph):
    """Work that was captured on a stream, to be replayed as one piece.

    Args:
        keep_graph: leaves `instantiate()` to you, or to the first `replay()`.

    What is allocated during the capture comes out of a pool that serves nobody else, and stays
    where it is until `reset()`: replays read and write the same memory. Prefer the context manager
    `graph`. Where the device shares its streams with PyTorch's own CUDA device, this makes a
    torch.cuda.CUDAGraph.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        own = twin.member("CUDAGraph") if device_module.is_available() else None
        return _taking_our_generators(own)(*args, **kwargs) if own else super().__new__(cls)

    def capture_begin(
        self,
        pool: Any = None,
        capture_error_mode: str = "global",
        check_input_liveness: bool = False,
    ) -> None:
        """Captures what this thread puts on its current stream from now on.

        Args:
            pool: shares the memory of other graphs: what `graph_pool_handle()` or their `pool()`
                answered.
            capture_error_mode: "global", "thread_local" or "relaxed". Other threads may do as they
                like in all of them.
        """
        if capture_error_mode not in ("global", "thread_local", "relaxed"):
            raise RuntimeError(
                "Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, got "
                f"{capture_error_mode}"
            )
        if check_input_liveness:
            raise NotImplementedError(
                f"{name}: check_input_liveness: it watches CUDA's tensors. Here a graph whose "
                "operators run on the host keeps its inputs alive; expected False"
            )
        device_module.init()
        self._begin(pool_id(pool))

    def register_generator_state(self, generator: torch.Generator) -> None:
        """For torch.cuda's sake: generators join a capture when their numbers are drawn."""
        if generator.device.type != name:
            raise ValueError(
                f"register_generator_state: expected a generator of {name}, got one of "
                f"{generator.device.type}"
            )

    def enable_debug_mode(self) -> None:
        """Raises NotImplementedError: a runtime cannot describe a graph."""
        _native.refuse_graph_description()

    def debug_dump(self, debug_path: str) -> None:
        """Raises NotImplementedError: a runtime cannot describe a graph."""
        _native.refuse_graph_description()


DeviceGraph.__name__ = DeviceGraph.__qualname__ = f"{name.upper()}Graph"


def _default_capture_stream() -> Any:
    device = device_module.current_device()
    if device not in _capture_streams:
        _capture_streams.setdefault(device, device_module.Stream())
    return _capture_streams[device]


def _captures_on_current_device(graph_class: type) -> bool:
    """Whether torch.cuda.graph's one stream for all devices, of the one that captured first, is
    of ours."""
    stream = graph_class.default_capture_stream  # type: ignore[attr-defined]
    index = stream.device_index if stream else twin.member("current_device")()
    return bool(index == twin.index(device_module.current_device()))


def _free_memory() -> None:
    """As torch.cuda.graph does before a capture: the graph's pool keeps its memory, so cached
    memory of others goes back first."""
    device_module.synchronize()
    if torch.compiler.config.force_cudagraph_gc:
        gc.collect()
    device_module.empty_cache()
    if hasattr(torch.accelerator, "empty_host_cache"):
        torch.accelerator.empty_host_cache()


class graph:
    """Context manager: what is put on the stream inside it goes into a graph.

    Args:
        cuda_graph: the graph that captures.
        pool: shares the memory of other graphs: what `graph_pool_handle()` or their `pool()`
            answered.
        stream: current inside it; not a default one. None: a stream of its own.
        capture_error_mode: as for the graph's `capture_begin`.

    It waits for the device first, and gives cached memory back. What the body raises ends the
    capture without a graph.
    """

    def __new__(cls, cuda_graph: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(cuda_graph, DeviceGraph) or not device_module.is_initialized():
            return super().__new__(cls)
        own = twin.member("graph")
        if own is None:
            return super().__new__(cls)
        pool, stream, *rest = (*args, None, None)[: max(len(args), 2)]
        named = {"pool": pool, "stream": stream, **kwargs}
        if not named["stream"] and not _captures_on_current_device(own):
            named["stream"] = _default_capture_stream()
        named["stream"] = twin.stream(named["stream"])
        return own(cuda_graph, named.pop("pool"), named.pop("stream"), *rest, **named)

    def __init__(
        self,
        cuda_graph: Any,
        pool: Any = None,
        stream: torch.Stream | None = None,
        capture_error_mode: str = "global",
        enable_annotations: bool = False,
        check_input_liveness: bool = False,
    ) -> None:
        refuse_annotations(enable_annotations)
        pool_id(pool)  # refuses what is none
        self._graph = cuda_graph
        self._options = {
            "pool": pool,
            "capture_error_mode": capture_error_mode,
            "check_input_liveness": check_input_liveness,
        }
        # None until the first entry chooses one.
        self._stream: Any = None if stream is None else device_module.StreamContext(stream)
        self._is_entered = False

    def __enter__(self) -> None:
        if self._is_entered:
            raise RuntimeError(
                "this context was entered already: leave it before it is entered again"
            )
        device_module.init()
        if self._stream is None:
            self._stream = device_module.StreamContext(_default_capture_stream())
        _free_memory()
        self._stream.__enter__()
        self._is_entered = True
        try:
            self._graph.capture_begin(**self._options)
        except BaseException:
            self._leave_stream()
            raise

    def __exit__(self, *args: Any) -> Literal[False]:
        # With an error of the body, which goes on, the capture is thrown away without an error of
        # its own: the body's may have broken it.
        if not self._is_entered:
            raise RuntimeError("this context was not entered")
        has_failed = bool(args) and args[0] is not None
        try:
            if not (has_failed and self._abandon()):
                self._graph.capture_end()
        except BaseException:
            # A body that leaves another stream current is refused, with the capture still open; and
            # nobody is left to end it.
            self._abandon()
            raise
        finally:
            self._leave_stream()
        return False

    def _abandon(self) -> bool:
        """Ends an open capture without a graph; False for a graph of another class, which has its
        own way."""
        if not isinstance(self._graph, DeviceGraph):
            return False
        self._graph._abandon_capture()
        return True

    def _leave_stream(self) -> None:
        self._is_entered = False
        self._stream.__exit__(None, None, None)


def make_graphed_callables(
    callables: Any,
    sample_args: tuple[Any, ...],
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: Any = None,
    capture_error_mode: str = "global",
    enable_annotations: bool = False,
) -> Any:
    """Functions and modules whose forward and backward passes are replays of graphs.

    Args:
        callables: a function or torch.nn.Module, or a tuple of them in the order in which they run.
        sample_args: a tuple of tensors, or one for each callable; later calls take tensors like
            them.
        num_warmup_iters: how often each runs before its capture.
        allow_unused_input: inputs that the outputs do not depend on are no error.
        pool: shares the memory of other graphs.
        capture_error_mode: as for the graph's `capture_begin`.

    Returns the callables, modules changed in place. A module goes on as before in the other mode
    (training, evaluation) than it was captured in. There are no second derivatives.
    """
    refuse_annotations(enable_annotations)
    from .graphed_callables import check_autocast, graph_all

    check_autocast()
    own = twin.member("make_graphed_callables")
    if own is not None and capture_error_mode == "global":
        return own(callables, sample_args, num_warmup_iters, allow_unused_input, pool)
    options = {"pool": pool, "capture_error_mode": capture_error_mode}
    return graph_all(callables, sample_args, num_warmup_iters, allow_unused_input, options)
