"""``python -m torch_outback.conformance``: PyTorch's samples alone, as projects call it.

`outback conformance` is the whole of it.
"""

from .opinfo.cli import main

main()
