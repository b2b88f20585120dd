"""What a type checker has to accept of torch.acme, and what it has to find. Never run."""

import torch
import torch.acme
import torch.acme.amp
import torch.acme.streams
from torch.acme.random import manual_seed_all


def devices() -> list[str]:
    torch.acme.set_device(torch.device("acme", 0))
    with torch.acme.device("acme:1"), torch.acme.device_of(torch.ones(1)):
        torch.acme.synchronize()
    names: list[str] = [
        torch.acme.get_device_name(index) for index in range(torch.acme.device_count())
    ]
    total: int = torch.acme.get_device_properties(0).total_memory
    major, minor = torch.acme.get_device_capability()
    return [*names, str(total), str(major + minor)]


def graphs(x: torch.Tensor) -> torch.Tensor:
    graph = torch.acme.CUDAGraph()
    pool: tuple[int, int] = torch.acme.graph_pool_handle()
    with torch.acme.graph(graph, pool=pool):
        y = x + 1
    graph.replay()
    assert isinstance(graph, torch.acme.ACMEGraph)
    return y


def streams(x: torch.Tensor) -> torch.Tensor:
    stream = torch.acme.Stream(priority=-1)
    ready: torch.acme.Event = torch.acme.Event(enable_timing=True)
    with torch.acme.stream(stream):
        y = x + 1
        ready.record(stream)
    stream.wait_stream(torch.acme.current_stream())
    assert isinstance(stream, torch.acme.streams.Stream)
    return y


def numbers() -> torch.Tensor:
    manual_seed_all(1)
    state: torch.Tensor = torch.acme.get_rng_state("acme:0")
    torch.acme.set_rng_state(state)
    generator: torch.Generator = torch.acme.default_generators[0]
    return torch.rand(2, generator=generator, device="acme")


def training(loss: torch.Tensor) -> None:
    scaler: torch.amp.GradScaler = torch.acme.amp.GradScaler(init_scale=2.0)
    with torch.acme.amp.autocast(dtype=torch.bfloat16):
        scaler.scale(loss).backward()
    try:
        torch.acme.mem_get_info()
    except torch.acme.OutOfMemoryError:
        torch.acme.empty_cache()


def memory(pool: torch.acme.MemPool) -> int:
    @torch.acme.use_mem_pool(pool, "acme:0")
    def elements(count: int) -> int:
        return torch.ones(count, device="acme").numel()

    @torch.acme.caching_allocator_disabled()
    def more() -> int:
        return elements(count="2")  # type: ignore[arg-type]

    torch.acme._sleep(1000)
    return more()


def mistakes() -> None:
    torch.acme.set_device([0])  # type: ignore[arg-type]
    torch.acme.no_such_name()  # type: ignore[attr-defined]
    count: str = torch.acme.device_count()  # type: ignore[assignment]
    torch.acme.seed(1)  # type: ignore[call-arg]
    print(count)
