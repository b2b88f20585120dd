"""Trains the GPT with FSDP2 on all ranks that torchrun starts. A run that is started again goes on
from its last checkpoint.

torchrun --standalone --nproc-per-node 2 train.py FOLDER
"""

from __future__ import annotations

import argparse
import json
import os
import signal
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
from gpt import GPT, batch, loss_of
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.fsdp import fully_shard

STEPS, STEPS_OF_A_CHECKPOINT = 40, 10


def main() -> None:
    options = _options()
    torch.set_num_threads(1)
    kind = torch.accelerator.current_accelerator().type
    device = torch.device(kind, int(os.environ["LOCAL_RANK"]))
    torch.accelerator.set_device_index(device.index)
    dist.init_process_group(device_id=device)

    model = GPT().to(device)
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

    first = _load(options.folder, model, optimizer)
    for step in range(first, STEPS):
        if step == options.kill_at and first == 0 and dist.get_rank() == dist.get_world_size() - 1:
            os.kill(os.getpid(), signal.SIGKILL)  # as if the last rank's machine had failed
        mine = batch(step).chunk(dist.get_world_size())[dist.get_rank()]
        loss = loss_of(model, mine.to(device))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        dist.all_reduce(loss.detach_())
        _note(options.folder, first, step, loss.item() / dist.get_world_size())
        if (step + 1) % STEPS_OF_A_CHECKPOINT == 0:
            _save(options.folder, step + 1, model, optimizer)
    dist.destroy_process_group()


def _state(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, dict]:
    return dict(zip(("model", "optimizer"), get_state_dict(model, optimizer), strict=True))


def _save(folder: Path, step: int, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Each rank saves its shards. The file `.metadata`, which makes it a checkpoint, comes last."""
    checkpoint.save(_state(model, optimizer), checkpoint_id=folder / f"checkpoint-{step}")


def _load(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Loads the last whole checkpoint, and returns the step to go on with."""
    found = [int(file.parent.name.split("-")[1]) for file in folder.glob("checkpoint-*/.metadata")]
    if not found:
        return 0
    step = max(found)
    state = _state(model, optimizer)
    checkpoint.load(state, checkpoint_id=folder / f"checkpoint-{step}")
    set_state_dict(
        model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"]
    )
    return step


def _note(folder: Path, first: int, step: int, loss: float) -> None:
    """Writes a line: the step that this start of the program began with, the step, the loss."""
    if dist.get_rank() == 0:
        with (folder / "losses.jsonl").open("a") as file:
            print(json.dumps([first, step, loss]), file=file)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains the GPT with FSDP2.")
    parser.add_argument("folder", type=Path, help="for checkpoints and losses")
    parser.add_argument("--kill-at", type=int, help="the step at which the last rank kills itself")
    return parser.parse_args()


if __name__ == "__main__":
    main()
