"""Build all wheels, install them by file into a fresh environment, and use them as a stranger.

`hatch run wheels` runs this. Nothing here imports tiny: each check is a small program that the
fresh environment runs, with no way to see the source tree. Wheels are installed by file, so that
a distribution of the same name on an index can never take their place.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
DIST = ROOT / "dist"

# What `pip install tiny-tensor` brings; the other members come with an extra or alone.
PLAIN = (
    "tiny_ir",
    "tiny_plugin",
    "tiny_codegen",
    "tiny_renderers",
    "tiny_runtime_cpu",
    "tiny_tensor",
)

EXAMPLES = {"tiny-backend-stack", "tiny-codegen-simple"}

# Tests that hold for any code generator: fusing is no promise, nor is the order of a long sum.
TENSOR_TESTS = ("test_movement.py", "test_reductions.py", "test_elementwise.py", "test_writes.py")
PROMISES_OF_OURS = "not few_kernels and not long_half and not 32_bits"

ADD_ON_CPU = """
from tiny_tensor import Tensor
assert (Tensor([1, 2, 3]) + 1).tolist() == [2, 3, 4]
print("cpu works")
"""

DEMO_ON_CPU = """
from tiny_tensor.cli import main
assert main(["demo", "--epochs", "1"]) == 0
print("the demo works")
"""

# Runtimes that are the CPU's but for one method.
DROPPING = """
from tiny_runtime_cpu.runtime import CpuRuntime

TINY_API = (1, 0)

class Dropping(CpuRuntime):
    name = "dropping"

    def copy_in(self, memory, data):
        return super().copy_in(memory, data)

def runtime(ordinal):
    return Dropping()
"""
LYING = """
from tiny_runtime_cpu.runtime import CpuRuntime

TINY_API = (1, 0)

class Lying(CpuRuntime):
    name = "lying"

    def allocate(self, nbytes):
        return bytearray(nbytes)

def runtime(ordinal):
    return Lying()
"""

ASK_FOR = """
from tiny_tensor import Tensor
try:
    (Tensor([1, 2, 3], device={device!r}) + 1).tolist()
except Exception as error:
    print(type(error).__mro__)
    print(error)
else:
    raise SystemExit("device {device} should have been refused")
"""

TRAIN_ON = """
from tiny_tensor import Tensor
x = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], device={device!r})
assert (x + 1).tolist() == [[2.0, 3.0, 4.0], [5.0, 6.0, 7.0]]
assert x.sum().item() == 21.0
assert x.T.tolist() == [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]
assert (x @ x.T).tolist() == [[14.0, 32.0], [32.0, 77.0]]
assert x.relu().max(axis=1).tolist() == [3.0, 6.0]
(gradient,) = (x * x).sum().gradient(x)
assert gradient.tolist() == [[2.0, 4.0, 6.0], [8.0, 10.0, 12.0]]
print("tensors work on {device}")
"""


@dataclass(frozen=True, slots=True)
class Check:
    """A program for the fresh environment, and what its output must say."""

    sentence: str
    program: str
    says: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


def run(command: Sequence[str | Path], folder: Path = ROOT) -> None:
    """Run a command, quietly; show its output if it fails."""
    done = subprocess.run(
        command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}\nexit status {done.returncode}")


class Stranger:
    """A fresh environment in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.uv = shutil.which("uv")
        if self.uv is not None:
            run([self.uv, "venv", "--quiet", "--python", sys.executable, folder])
        else:
            venv.create(folder, with_pip=True)
        self.programs = folder / ("Scripts" if os.name == "nt" else "bin")
        self.python = self.programs / "python"

    def install(self, *requirements: str | Path) -> None:
        """Install wheels by file, with what they need from the index."""
        if self.uv is not None:
            run([self.uv, "pip", "install", "--quiet", "--python", self.python, *requirements])
        else:
            run([self.python, "-m", "pip", "install", "--quiet", *requirements])

    def uninstall(self, name: str) -> None:
        """Remove one distribution."""
        if self.uv is not None:
            run([self.uv, "pip", "uninstall", "--quiet", "--python", self.python, name])
        else:
            run([self.python, "-m", "pip", "uninstall", "--quiet", "--yes", name])

    def call(self, arguments: Sequence[str], environment: Mapping[str, str]) -> tuple[int, str]:
        """Run the environment's Python; return its exit status and what it said."""
        variables = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "TINY_"))}
        variables |= {"TINY_CACHE": str(self.folder / "cache"), **environment}
        done = subprocess.run(
            [self.python, *arguments],
            cwd=self.folder,
            env=variables,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=300,
        )
        return done.returncode, done.stdout


class Report:
    """What passed and what failed, told as it happens."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed = 0

    def tell(self, sentence: str, trouble: str | None) -> None:
        """Count one check; `trouble` is None when it passed."""
        if trouble is None:
            self.passed += 1
            print(f"ok    {sentence}", flush=True)
        else:
            self.failed += 1
            print(f"FAIL  {sentence}\n{trouble}", flush=True)

    def check(self, stranger: Stranger, check: Check) -> None:
        """Run one check."""
        status, output = stranger.call(["-I", "-c", check.program], check.environment)
        missing = [words for words in check.says if words not in output]
        good = status == 0 and not missing
        trouble = f"{output}\nexit status {status}; not said: {missing}"
        self.tell(check.sentence, None if good else trouble)


def write_wheel(
    folder: Path, name: str, files: Mapping[str, str], entry_points: Mapping[str, Mapping[str, str]]
) -> Path:
    """Write a pure wheel, version 1.0, by hand: what a broken plugin ships needs no build."""
    module = name.replace("-", "_")
    info = f"{module}-1.0.dist-info"
    points = "".join(
        f"[{group}]\n" + "".join(f"{point} = {value}\n" for point, value in members.items())
        for group, members in entry_points.items()
    )
    contents = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": points,
    }
    record = [f"{info}/RECORD,,"]
    path = folder / f"{module}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for file, text in contents.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest())
            record.append(f"{file},sha256={digest.decode().rstrip('=')},{len(text.encode())}")
            wheel.writestr(file, text)
        wheel.writestr(f"{info}/RECORD", "\n".join(record) + "\n")
    return path


def plugin_wheel(folder: Path, name: str, device: str, text: str) -> Path:
    """Write the wheel of a runtime plugin whose module is `text`."""
    module = name.replace("-", "_")
    return write_wheel(folder, name, {f"{module}.py": text}, {"tiny.runtime": {device: module}})


def build_members() -> list[Path]:
    """Build the wheel of every member into dist/, which is emptied first."""
    shutil.rmtree(DIST, ignore_errors=True)
    run([sys.executable, "-m", "hatch", "build", "--all", "-t", "wheel"])
    wheels = sorted(DIST.glob("*.whl"))
    members = {path.parent.name for path in ROOT.glob("packages/*/pyproject.toml")}
    built = {wheel.name.split("-")[0].replace("_", "-") for wheel in wheels}
    if built != members:
        sys.exit(f"built {sorted(built)}, expected {sorted(members)}")
    return wheels


def build_example(project: Path, folder: Path) -> Path:
    """Build the wheel of a distribution that is no member of the workspace."""
    target = folder / project.name
    run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", target], project)
    return next(target.glob("*.whl"))


def entry_points_of(project: Path, group: str) -> list[str]:
    """Return the names that a project offers in one group."""
    table = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return list(table.get("entry-points", {}).get(group, {}))


def extra_of(member: str, extra: str) -> list[str]:
    """Return what an extra of a member brings from an index."""
    path = ROOT / "packages" / member / "pyproject.toml"
    table = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    return list(table["optional-dependencies"][extra])


def check_plain_install(stranger: Stranger, report: Report) -> None:
    """What `pip install tiny-tensor` must do alone."""
    report.check(
        stranger,
        Check(
            "the installed packages are used, not the source tree",
            "import tiny_ir, tiny_tensor; print(tiny_ir.__file__, tiny_tensor.__file__)",
            ("site-packages",),
        ),
    )
    report.check(stranger, Check("a plain install computes on the CPU", ADD_ON_CPU, ("cpu works",)))
    stranger.install(*extra_of("tiny-tensor", "demo"), *extra_of("tiny-plugin", "typed"))
    report.check(stranger, Check("the demo learns on the CPU", DEMO_ON_CPU, ("the demo works",)))
    report.check(
        stranger,
        Check(
            "a device of an extra that is missing names the pip line",
            ASK_FOR.format(device="python"),
            ("TinyError", "pip install tiny-tensor[python]"),
        ),
    )


def check_bad_plugins(stranger: Stranger, folder: Path, report: Report) -> None:
    """A plugin that is wrong is an error when it is asked for, and never before."""
    stranger.install(
        plugin_wheel(folder, "acme-future", "future", "TINY_API = (2, 0)\n"),
        plugin_wheel(folder, "acme-raising", "raising", "raise RuntimeError('no licence found')\n"),
        plugin_wheel(folder, "acme-leaving", "leaving", "raise SystemExit(3)\n"),
        plugin_wheel(folder, "acme-silent", "silent", "runtime = None\n"),
        plugin_wheel(folder, "acme-dropping", "dropping", DROPPING),
        plugin_wheel(folder, "acme-lying", "lying", LYING),
    )
    for device, words in (
        ("future", ("acme-future", "1.0", "2.0", "pip install")),
        ("raising", ("acme-raising", "no licence found")),
        ("leaving", ("acme-leaving", "SystemExit")),
        ("silent", ("acme-silent", "TINY_API")),
        ("dropping", ("acme-dropping", "copy_in() drops the parameter 'after'")),
        ("lying", ("acme-lying", "return value: expected", "bytearray")),
    ):
        report.check(
            stranger,
            Check(
                f"asking for the {device} plugin is refused, and the CPU demo still works",
                ASK_FOR.format(device=device) + DEMO_ON_CPU,
                ("TinyError", *words, "the demo works"),
                {"TYPED": "1"} if device == "lying" else {},
            ),
        )


def check_taken_name(stranger: Stranger, folder: Path, report: Report) -> None:
    """Two distributions that offer one device name: refused, and a setting chooses."""
    stranger.install(plugin_wheel(folder, "acme-cpu", "cpu", "TINY_API = (1, 0)\n"))
    report.check(
        stranger,
        Check(
            "two distributions with one device name are refused by both names",
            ASK_FOR.format(device="cpu"),
            ("TinyError", "acme-cpu", "tiny-runtime-cpu", "TINY_PLUGIN_CPU"),
        ),
    )
    report.check(
        stranger,
        Check(
            "TINY_PLUGIN_CPU chooses between them",
            ADD_ON_CPU,
            ("cpu works",),
            {"TINY_PLUGIN_CPU": "tiny-runtime-cpu"},
        ),
    )
    stranger.uninstall("acme-cpu")


def check_example(stranger: Stranger, project: Path, report: Report) -> None:
    """Tensor code runs on what an out-of-tree distribution offers, and its own tests pass."""
    for device in entry_points_of(project, "tiny.runtime"):
        program = TRAIN_ON.format(device=device)
        report.check(stranger, Check(f"{project.name}: Tensor code runs on {device}", program))
    for name in entry_points_of(project, "tiny.codegen"):
        settings = {"TINY_CODEGEN": name, "TINY_DEVICE": "python"}
        tests = [str(ROOT / "tests" / "tiny_tensor" / test) for test in TENSOR_TESTS]
        tests += ["-k", PROMISES_OF_OURS]
        check_tests(stranger, report, f"{project.name}: the Tensor tests pass", tests, settings)
    if (project / "tests").is_dir():
        sentence = f"{project.name}: its own tests pass"
        check_tests(stranger, report, sentence, [str(project / "tests")], {})


def check_tests(
    stranger: Stranger,
    report: Report,
    sentence: str,
    tests: Sequence[str],
    settings: Mapping[str, str],
) -> None:
    """Tests of the source tree pass on what is installed."""
    pytest = ["-I", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header"]
    status, output = stranger.call([*pytest, *tests], settings)
    report.tell(sentence, output if status else None)


def main() -> int:
    """Return 0 when every check passed."""
    report = Report()
    projects = sorted(path.parent for path in ROOT.glob("examples/*/pyproject.toml"))
    if missing := EXAMPLES - {project.name for project in projects}:
        sys.exit(f"the examples {sorted(missing)} are gone")
    with tempfile.TemporaryDirectory(prefix="tiny-wheels-") as name:
        folder = Path(name)
        wheels = build_members()
        examples = [build_example(project, folder) for project in projects]
        print(f"built {len(wheels)} members and {len(examples)} examples", flush=True)
        stranger = Stranger(folder / "environment")
        stranger.install(*(wheel for wheel in wheels if wheel.name.startswith(PLAIN)))
        check_plain_install(stranger, report)
        check_bad_plugins(stranger, folder, report)
        check_taken_name(stranger, folder, report)
        stranger.install(*wheels, *examples)
        for project in projects:
            check_example(stranger, project, report)
    print(f"{report.passed} passed, {report.failed} failed")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
