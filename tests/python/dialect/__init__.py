"""Kernels in the dialect."""
