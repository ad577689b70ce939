"""The rooms of Tensor: its methods, by kind."""
