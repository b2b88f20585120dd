"""Modules that stand for a backend which an `--import` loads; the device is the CPU."""
