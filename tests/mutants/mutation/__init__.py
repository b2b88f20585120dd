"""Applies one-line defects, one at a time, and sees that the test that is named finds each."""
