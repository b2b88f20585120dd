"""PyTorch's operators by portable kernels (backend_template/portable)."""
