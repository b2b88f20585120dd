"""Proof of a backend: what PyTorch promises of a device, checked on any PrivateUse1 backend."""
