"""The sources of a project, and what of torch they name."""
