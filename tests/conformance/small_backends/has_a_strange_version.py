"""A backend whose version looks like markup."""

__version__ = "1[/red]"
