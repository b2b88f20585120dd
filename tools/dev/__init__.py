"""What ./dev does, one concept per module. The standard library only: it runs before anything is installed."""
