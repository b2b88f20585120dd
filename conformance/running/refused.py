"""Why a run cannot be made."""


class Refused(ValueError):
    """What was asked for cannot be run here; the text says why, in a line."""


class WorkerFailed(RuntimeError):
    """A worker that never got to its first entry: nothing can be said about any of them."""
