"""Functions of floats, spelled in arithmetic and integer operations on their bits."""
