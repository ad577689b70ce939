"""What the LLVM renderer writes agrees with the reference, bit for bit."""

from tiny_testing import BackendSuite


class TestLlvm(BackendSuite):
    device = "cpu"
    renderer = "llvm"
    compiler = "llvm"
