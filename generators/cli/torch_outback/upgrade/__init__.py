"""`outback upgrade-report`: what changed between two releases of torch for a backend, and where a
project's sources name it. Files of both releases are read, and nothing of them is run."""
