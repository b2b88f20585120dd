"""A driver that waits for what never comes."""

import time

time.sleep(3600)
