"""kernel -> Program."""
