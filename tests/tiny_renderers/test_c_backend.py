"""What the C renderer writes agrees with the reference, bit for bit."""

from tiny_testing import BackendSuite


class TestC(BackendSuite):
    device = "cpu"
    renderer = "c"
    compiler = "c"
