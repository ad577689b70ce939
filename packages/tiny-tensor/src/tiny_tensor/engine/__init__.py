"""Between a graph and its numbers: what is pending, written, cached, kept and captured."""
