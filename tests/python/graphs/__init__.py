"""Capture and replay, as a program sees them."""
