"""Functions of floats, spelled in additions, multiplications and integer operations on their bits."""
