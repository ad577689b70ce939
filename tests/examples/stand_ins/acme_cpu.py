"""A runtime that is not ours under a name that is: "cpu" is a stack machine here."""

from tiny_backend_stack import StackRuntime

TINY_API = (1, 0)


class AcmeCpu(StackRuntime):
    name = "cpu"


def runtime(ordinal: int) -> AcmeCpu:
    return AcmeCpu()
