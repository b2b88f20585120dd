"""The same calls in two processes: here on this backend's own methods, and in a child on those that
PyTorch generates for it. What happens is compared; differences.py lists what may differ, and why.
"""
