"""kernel -> a faster kernel."""
