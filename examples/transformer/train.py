"""Trains a small GPT of Hugging Face transformers on this repository's licence, on acme and on cpu.

python train.py                  # float32
python train.py --amp bfloat16   # under torch.autocast
"""

import argparse
from pathlib import Path

import torch
import transformers
from torch import Tensor

TEXT = Path(__file__).parents[2].joinpath("LICENSE").read_bytes()
CONTEXT, BATCH, STEPS = 32, 16, 150
PROMPT = b"Redistribution "


def network() -> torch.nn.Module:
    """Two layers, a token for each byte, and random weights: nothing is downloaded."""
    config = transformers.GPT2Config(
        vocab_size=128,
        n_positions=CONTEXT,
        n_embd=96,
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


def batches() -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    text = torch.tensor(list(TEXT))
    starts = torch.randint(len(text) - CONTEXT, (STEPS, BATCH), generator=generator)
    return list(text[starts[..., None] + torch.arange(CONTEXT)])


def train(model: torch.nn.Module, device: str, amp: torch.dtype | None) -> list[float]:
    """The curve of losses."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-3)
    losses = []
    for batch in batches():
        tokens = batch.to(device)
        with torch.autocast(device, amp, enabled=amp is not None):
            logits = model(input_ids=tokens).logits[:, :-1]
            loss = torch.nn.functional.cross_entropy(logits.transpose(1, 2), tokens[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def continued(model: torch.nn.Module, device: str) -> str:
    """What the network writes after the prompt."""
    prompt = torch.tensor([list(PROMPT)], device=device)
    length = CONTEXT - len(PROMPT)
    written = model.eval().generate(prompt, max_new_tokens=length, do_sample=False, pad_token_id=0)
    return bytes(written[0].tolist()).decode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--amp", choices=["bfloat16"])
    options = parser.parse_args()
    amp = getattr(torch, options.amp) if options.amp else None
    torch.set_num_threads(1)

    there, here = network().to("acme"), network()
    on_acme, on_cpu = train(there, "acme", amp), train(here, "cpu", amp)
    print(f"{sum(p.numel() for p in there.parameters())} parameters on {there.device}")
    print("step   loss on acme   loss on cpu")
    for step in (0, 25, 50, 100, STEPS - 1):
        print(f"{step:>4}   {on_acme[step]:12.4f}   {on_cpu[step]:11.4f}")
    difference = max(abs(a - b) for a, b in zip(on_acme, on_cpu, strict=True))
    print(f"largest difference of the {STEPS} losses: {difference:.1g}")
    print("acme writes", repr(continued(there, "acme")))
    print("cpu writes ", repr(continued(here, "cpu")))


if __name__ == "__main__":
    main()
