"""Makes the harness importable for its tests, as run.py's own folder does for a run."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
