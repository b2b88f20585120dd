"""Two machines train the GPT together, once undisturbed and once with a worker that is killed.

python show.py [--processes 2]

A machine is an agent of torchrun's with a loopback address of its own: 127.0.0.1, 127.0.0.2.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

MACHINES = 2
KILLED_AT = 27
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "GLOO_SOCKET_IFNAME": "lo",  # the interface that both machines have
    # A store of their own for the workers of each start: what those before them have left in a
    # shared one makes the next ones wait for processes that are no more.
    "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
}
WORKER = Path(__file__).with_name("train.py")


def train(processes: int, folder: Path, *options: str) -> list[tuple[int, int, float]]:
    """Starts the agents and waits for them. Returns, for each step that was taken: the step that
    the workers had begun with, the step, and the loss."""
    rendezvous = f"127.0.0.1:{_free_port()}"
    agents = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "torch.distributed.run"),
                *("--nnodes", str(MACHINES), "--nproc-per-node", str(processes)),
                *("--rdzv-backend", "c10d", "--rdzv-endpoint", rendezvous),
                *("--rdzv-id", "show", "--max-restarts", "3"),
                *("--local-addr", f"127.0.0.{machine + 1}"),
                *("--log-dir", str(folder / f"logs-{machine}"), "--redirects", "3"),
                *(str(WORKER), str(folder), *options),
            ],
            env=os.environ | ENVIRONMENT,
            stdout=subprocess.DEVNULL,
            stderr=(folder / f"agent-{machine}").open("w"),
        )
        for machine in range(MACHINES)
    ]
    codes = [agent.wait() for agent in agents]
    if any(codes):
        logs = [*folder.glob("agent-*"), *folder.glob("logs-*/**/stderr.log")]
        sys.exit("\n".join(f"{log}:\n{log.read_text()}" for log in logs))
    lines = (folder / "losses.jsonl").read_text().splitlines()
    return [tuple(json.loads(line)) for line in lines]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=1, help="on each machine")
    processes = parser.parse_args().processes
    with tempfile.TemporaryDirectory() as whole, tempfile.TemporaryDirectory() as killed:
        undisturbed = train(processes, Path(whole))
        disturbed = train(processes, Path(killed), "--kill-at", str(KILLED_AT))

    expected = {step: loss for _, step, loss in undisturbed}
    again = max(first for first, _, _ in disturbed)
    twice = len(disturbed) - len(expected)
    print(f"{MACHINES} machines with {processes} rank{'s' * (processes > 1)} each")
    print(f"killed: rank {MACHINES * processes - 1}, before step {KILLED_AT}")
    print(f"started again: all ranks, at step {again}; {twice} steps were taken twice")
    print("step   loss, undisturbed   loss, killed and started again")
    found = {step: loss for _, step, loss in disturbed}
    for step in sorted({0, 10, again, KILLED_AT, len(expected) - 1}):
        print(f"{step:>4}   {expected[step]:17.6f}   {found[step]:30.6f}")
    different = {step for _, step, loss in disturbed if loss != expected[step]}
    print(f"steps with another loss: {len(different)} of {len(expected)}")


if __name__ == "__main__":
    main()
