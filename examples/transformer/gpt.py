"""Trains a small GPT of Hugging Face transformers on this repository's licence: on acme and on the
CPU, in float32 and under torch.autocast.

python gpt.py
"""

from __future__ import annotations

from pathlib import Path

import torch
import transformers
from torch import Tensor

TEXT = Path(__file__).parents[2].joinpath("LICENSE").read_bytes()
CONTEXT, BATCH = 32, 16
# Some CPUs compute bfloat16 five times as slowly as float32.
STEPS = {None: 120, torch.bfloat16: 40}
PROMPT = b"Redistribution "


def network() -> transformers.GPT2LMHeadModel:
    """Two layers, a token for each byte, and random weights: nothing is downloaded."""
    config = transformers.GPT2Config(
        vocab_size=128,
        n_positions=CONTEXT,
        n_embd=64,
        n_layer=2,
        n_head=4,
        initializer_range=0.1,  # so small a network learns faster so
        # Random numbers of two devices differ, and so would the curves.
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=None,
        eos_token_id=None,
    )
    torch.manual_seed(0)
    return transformers.GPT2LMHeadModel(config)


def batches(steps: int) -> Tensor:
    """steps x BATCH x CONTEXT bytes, from random places of the text."""
    generator = torch.Generator().manual_seed(0)
    text = torch.tensor(list(TEXT))
    starts = torch.randint(len(text) - CONTEXT, (steps, BATCH), generator=generator)
    return text[starts[..., None] + torch.arange(CONTEXT)]


def train(device: str, amp: torch.dtype | None) -> tuple[transformers.GPT2LMHeadModel, list[float]]:
    """A network, and the curve of its losses."""
    model = network().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for tokens in batches(STEPS[amp]).to(device):
        with torch.autocast(device, amp, enabled=amp is not None):
            logits = model(input_ids=tokens).logits[:, :-1]
            loss = torch.nn.functional.cross_entropy(logits.transpose(1, 2), tokens[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return model, losses


def written(model: transformers.GPT2LMHeadModel) -> str:
    """What the network goes on with after the prompt, taking the likeliest byte each time."""
    prompt = torch.tensor([list(PROMPT)], device=model.device)
    tokens = model.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        max_new_tokens=CONTEXT - len(PROMPT),
        do_sample=False,
        pad_token_id=0,
    )
    return bytes(tokens[0].tolist()).decode()


def main() -> None:
    torch.set_num_threads(1)
    for amp, steps in STEPS.items():
        there, on_acme = train("acme", amp)
        here, on_cpu = train("cpu", amp)
        name = "float32" if amp is None else f"autocast to {str(amp).removeprefix('torch.')}"
        print(f"{sum(p.numel() for p in there.parameters())} parameters on {there.device}, {name}")
        print("step   loss on acme   loss on cpu")
        for step in (0, steps // 4, steps // 2, 3 * steps // 4, steps - 1):
            print(f"{step:>4}   {on_acme[step]:12.4f}   {on_cpu[step]:11.4f}")
        difference = max(abs(a - b) for a, b in zip(on_acme, on_cpu, strict=True))
        print(f"largest difference of the {steps} losses: {difference:.1g}")
        print("acme writes", repr(written(there.eval())))
        print("cpu writes ", repr(written(here.eval())))


if __name__ == "__main__":
    main()
