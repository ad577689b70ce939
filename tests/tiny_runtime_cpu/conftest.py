"""A runtime with two threads, whatever the machine has."""

from collections.abc import Iterator

import pytest

from tiny_runtime_cpu.runtime import CpuRuntime


@pytest.fixture
def runtime() -> Iterator[CpuRuntime]:
    """The CPU, opened for one test."""
    opened = CpuRuntime(threads=2)
    yield opened
    opened.close()
