"""The device's memory: torch.acme.memory and the allocator, as a program sees them."""
