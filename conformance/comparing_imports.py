"""What torch imports when it compares tensors for the first time: most workers need it, and it takes
longer than most checks. Whoever forks the workers imports this once for all of them."""

import torch

if torch.distributed.is_available():
    import torch.distributed.tensor
