"""A lazy tensor library that compiles itself."""
