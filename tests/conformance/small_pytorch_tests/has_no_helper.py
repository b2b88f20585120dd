"""Wants something that is not there, on either side."""

import no_module_of_this_name  # noqa: F401
