"""A backend of tiny that compiles everything and runs nothing."""
