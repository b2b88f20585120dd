"""The first contact with a backend that is loaded: device facts, a byte, a stream, an event."""

from outback_probe import at, described, tell

NO_BACKEND = "privateuseone"  # torch's name for the key before anybody takes it
_MOST_DEVICES = 16


def make(torch) -> None:
    device = torch._C._get_privateuse1_backend_name()
    if device == NO_BACKEND:
        return
    tell("device", device)
    at(f"torch.{device}.device_count()")
    module = getattr(torch, device, None)
    if module is None:
        tell("no_module", True)
        return
    count = module.device_count()
    tell("count", count)
    if count:
        _tell_facts(module, device, min(count, _MOST_DEVICES))
        _tell_work(torch, f"{device}:0")
    else:
        _tell_step("first use", lambda: torch.empty(1, device=device))


def _tell_facts(module, device: str, count: int) -> None:
    facts = []
    for index in range(count):
        at(f"the facts of {device}:{index}")
        try:
            facts.append(_facts(module, index))
        except Exception as error:
            tell("facts_error", described(error))
            break
    tell("facts", facts)


def _facts(module, index: int) -> dict:
    if not hasattr(module, "get_device_properties"):
        return {}
    properties = module.get_device_properties(index)
    memory = getattr(properties, "total_memory", None)
    return {
        "name": str(getattr(properties, "name", "")),
        "memory": memory if isinstance(memory, int) else None,
    }


def _tell_work(torch, device: str) -> None:
    def byte() -> None:
        there = torch.tensor([1, 2, 254, 255], dtype=torch.uint8).to(device)
        back = there.cpu().tolist()
        if back != [1, 2, 254, 255]:
            raise ValueError(f"1, 2, 254, 255 came back as {', '.join(map(str, back))}")

    def stream() -> None:
        of_its_own = torch.Stream(device=device)
        of_its_own.synchronize()

    def event() -> None:
        marker = torch.Event(device=device)
        marker.record()
        marker.synchronize()
        if not marker.query():
            raise ValueError("query() is false after synchronize()")

    _tell_step("a byte there and back", byte)
    _tell_step("a stream", stream)
    _tell_step("an event", event)


def _tell_step(name: str, step) -> None:
    at(name)
    try:
        step()
    except BaseException as error:
        tell(name, described(error))
    else:
        tell(name, {})
