"""Suites that are wrong in one way each, for the tests of what runs them."""
