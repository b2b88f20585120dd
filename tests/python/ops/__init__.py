"""Operators, as a program calls them."""
