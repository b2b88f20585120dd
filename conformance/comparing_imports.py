"""What torch imports when it compares tensors for the first time.

That takes longer than most checks. Whoever forks the workers imports it once for all of them.
"""

import torch

if torch.distributed.is_available():
    import torch.distributed.tensor
