"""Makes a backend of a shared library, and trains a network on it: no build of a backend.

python load.py build/libacme_runtime.so
"""

import sys

import torch
import torch_outback


def main() -> None:
    acme = torch_outback.load("acme", sys.argv[1])
    print(f"devices: {acme.device_count()}, {acme.get_device_name()!r}")

    torch.manual_seed(0)
    x = torch.rand(64, 2)
    y = x.sum(dim=1, keepdim=True)
    losses = {}
    for device in ("acme", "cpu"):
        torch.manual_seed(0)
        model = torch.nn.Linear(2, 1).to(device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        losses[device] = []
        for _ in range(200):
            loss = torch.nn.functional.mse_loss(model(x.to(device)), y.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses[device].append(loss.item())
        print(f"weight on {model.weight.device}: {model.weight.tolist()}")
    print("the same losses as on the CPU:", losses["acme"] == losses["cpu"])


if __name__ == "__main__":
    main()
