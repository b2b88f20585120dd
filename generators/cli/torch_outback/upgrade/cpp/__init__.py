"""What the report reads of C++: comments and branches of the preprocessor, classes, functions."""
