"""The oracle: torch and we are given the same calls, and compared."""
