"""The list: a module for each area of the tree, with its MUTANTS."""
