"""Are the tests as good as they were? One-line defects, and the test that finds each: --help."""

import sys

from mutation.cli import main

sys.exit(main())
