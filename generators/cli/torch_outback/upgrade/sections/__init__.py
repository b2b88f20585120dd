"""The sections of the report: each compares one part of torch's surface between two releases."""
