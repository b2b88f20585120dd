"""What training uses: autocast, GradScaler."""

from __future__ import annotations

from .defect import defect
from .kernels import replace


@defect("?", "?", blind=True)
def scaler_skips_nothing() -> None:
    """Gradients that are not finite are not reported to GradScaler."""

    @replace("_amp_foreach_non_finite_check_and_unscale_")
    def _(check, gradients, found, inverse):
        for each in gradients:
            each.mul_(inverse)
