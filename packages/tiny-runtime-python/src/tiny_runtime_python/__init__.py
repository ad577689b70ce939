"""The reference backend of tiny: every op as its table row says, in Python."""
