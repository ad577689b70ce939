"""A process that finds its images on disk compiles nothing and imports no compiler."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

from tiny_runtime_cpu.runtime import CpuRuntime

from .kernels import MIX, compiled, program

WARM = """
import pickle, sys
from tiny_plugin import Call
from tiny_runtime_cpu.plugin import runtime

cpu = runtime()
with open(sys.argv[1], "rb") as file:
    binary = pickle.load(file)
kernel = cpu.load(binary)
memory = cpu.allocate(64)
cpu.copy_in(memory, bytes(64))
cpu.submit([Call(kernel, (memory,), (step,)) for step in range(3)])
print(list(cpu.view(memory).cast("q")))
loaded = {{"llvmlite", "numpy", "subprocess", "tempfile", "pluggy"}} & set(sys.modules)
loaded |= {{name for name in sys.modules if name.startswith("tiny_runtime_cpu.linker")}}
assert not loaded, loaded
cpu.close()
"""


def test_an_image_from_disk_runs_without_llvmlite(tmp_path: Path, runtime: CpuRuntime) -> None:
    facts = program("mix", runtime.target, elements=8, chunks=8, dtype="int64", values=1)
    path = tmp_path / "binary"
    path.write_bytes(pickle.dumps(compiled(MIX, facts)))
    said = subprocess.run(
        [sys.executable, "-c", WARM.format(), str(path)],
        check=True,
        env=os.environ | {"TYPED": "0"},
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
    ).stdout
    values = [0] * 8
    for step in range(3):
        values = [v * 3 + i + step for i, v in enumerate(values)]
    assert said.strip() == str(values)
