"""A driver's banner, in no encoding."""

import sys

sys.stdout.buffer.write(b"\xff\xfe driver\n")
sys.stdout.flush()
