"""./dev test: its parts, the quick loop, and what is chosen by what changed."""
