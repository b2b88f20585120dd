"""What was asked for cannot be done."""


class Refused(Exception):
    """Nothing was changed; the text says why, and what to do."""
