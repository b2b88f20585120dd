"""torch.distributed on the device, with the process group that comes with PyTorch."""
