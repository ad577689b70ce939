"""The reference runtime keeps every promise of a backend: it agrees with itself."""

from tiny_testing import BackendSuite


class TestPython(BackendSuite):
    device = "python"
