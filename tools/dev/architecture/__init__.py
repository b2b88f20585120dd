"""docs/architecture.md: what of it is drawn from the sources and from calls that are made."""
