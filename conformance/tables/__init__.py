"""Data that suites check: what PyTorch and programs written for it look for."""
