"""The levels of a run, without torch: the command line names them where torch may be broken."""

LEVELS = ("quick", "standard", "full")
