"""What a test's result on the device means beside the CPU's."""

from __future__ import annotations

from ..running.source import Entry

_BAD = ("failed", "crashed", "timed_out")
_HOW = {"failed": "fails", "crashed": "crashes", "timed_out": "hangs"}


def settles(device: Entry) -> bool:
    """Whether the CPU's result could not change what it means."""
    return device["status"] == "passed"


def compared(device: Entry, cpu: Entry | None) -> Entry:
    """The entry of both; None: the CPU has no such test."""
    if device["status"] == "passed":
        return device | _remark(cpu)
    if device["status"] == "skipped":
        return device | {"reason": _skipped(device["reason"], cpu)}
    if cpu is None:
        return _and(device, "the CPU has no such test")
    if cpu["status"] == "skipped":
        return _and(device, f"the CPU skips it: {cpu['reason']}")
    if cpu["status"] not in _BAD:
        return device
    if device["status"] in ("failed", cpu["status"]):
        both = f"{_HOW[cpu['status']]} on the CPU too: {cpu['error']}"
        return {"status": "skipped", "reason": both}
    return _and(device, f"it {_HOW[cpu['status']]} on the CPU: {cpu['error']}")


def imported(device: Entry | None, cpu: Entry | None) -> Entry:
    """Of a file, why one side or the other could not import it; None: it could."""
    if device is None:
        assert cpu is not None, "both sides could import it"
        reason = cpu.get("reason") or cpu["error"]
        return {"status": "skipped", "reason": f"the CPU's side cannot import it: {reason}"}
    if device["status"] == "skipped":
        return device
    return compared(device, cpu or {"status": "passed"})


def _remark(cpu: Entry | None) -> Entry:
    if cpu is None or cpu["status"] not in _BAD:
        return {}
    return {"remark": f"it {_HOW[cpu['status']]} on the CPU: {cpu['error']}"}


def _skipped(reason: str, cpu: Entry | None) -> str:
    """PyTorch's words; nothing was asked of the device."""
    if cpu is not None and cpu["status"] == "passed":
        return f"it passes on the CPU, and PyTorch skips it on this device: {reason}"
    return reason


def _and(device: Entry, more: str) -> Entry:
    return device | {"error": f"{device['error']} ({more})"}
