"""The one version that all distributions of this repository share."""

__version__ = "0.1.0"
