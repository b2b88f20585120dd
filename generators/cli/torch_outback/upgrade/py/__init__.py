"""What the report reads of torch's Python files: modules and their names, classes, signatures."""
