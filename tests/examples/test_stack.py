"""The example backend keeps every promise of a backend."""

from tiny_testing import BackendSuite


class TestStack(BackendSuite):
    device = "stack"
