"""Turn Source into Binary: textual LLVM IR through llvmlite, C through the user's compiler."""

import sys
from types import ModuleType

from tiny_ir import CompileError
from tiny_plugin import Binary, Source, Target, boundary
from tiny_runtime_cpu import settings
from tiny_runtime_cpu.driver import Driver
from tiny_runtime_cpu.image import MACHINES
from tiny_runtime_cpu.pool_code import EXPORTS, pool_text

FLAT = "flat"
"""A flat image: mapped and called, see image.py."""

OBJECT = "object"
"""A relocatable object of the system's own kind, linked in process by LLVM."""

_REVISION = 1  # counted up when the same source and target give another image

_MATHEMATICS = (
    *("fma", "fmod", "fmin", "fmax", "fabs", "sqrt", "floor", "ceil", "trunc"),
    *("rint", "nearbyint", "round", "roundeven", "ldexp", "scalbn", "frexp", "pow"),
    *("exp", "exp2", "expm1", "log", "log2", "log1p", "sin", "cos", "tan"),
    *("asin", "acos", "atan", "sinh", "cosh", "tanh", "erf"),
)
C_LIBRARY = frozenset(
    (
        *("memcpy", "memmove", "memset", "memcmp"),  # C compilers call these without being told to
        *_MATHEMATICS,
        *(name + "f" for name in _MATHEMATICS),
        # conversions of 16-bit floats and 128-bit integers, in the compiler's support library
        *("__extendhfsf2", "__extendhfdf2", "__truncsfhf2", "__truncdfhf2", "__truncsfbf2"),
        *("__truncdfbf2", "__udivti3", "__umodti3", "__divti3", "__modti3"),
    )
)
"""What C kernels may call; an image names these, and the runtime finds them when it loads it."""

_C_FLAGS = (
    "-c",
    "-x",
    "c",
    "-O2",
    "-std=gnu11",
    "-march=native",
    # What a result is: nothing contracted, nothing reassociated, integers wrap, bits may be reread.
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fwrapv",
    "-fno-strict-aliasing",
    # What an image needs: one position-independent piece without guards, tables and tricks.
    "-fPIC",
    "-fvisibility=hidden",
    "-ffreestanding",
    "-fno-stack-protector",
    "-fcf-protection=none",
    "-fno-asynchronous-unwind-tables",
    "-w",
)


def is_flat(target: Target, driver: Driver) -> bool:
    """Whether images for this target can be flat: Linux on x86-64 or AArch64."""
    return driver.system == "linux" and _machine(target) in MACHINES


def _machine(target: Target) -> str:
    return "x86_64" if target.arch.startswith("x86-64") else target.arch


@boundary
class LlvmCompiler:
    """Compiles textual LLVM IR in this process; llvmlite is imported at the first compilation.

    Args:
        target: what to compile for.
        driver: the operating system.
        flat: yield flat images; None where this system can run them.
    """

    name = "llvm"
    language = "llvm"

    def __init__(
        self, target: Target, driver: Driver | None = None, *, flat: bool | None = None
    ) -> None:
        self._target = target
        self._driver = driver or Driver()
        self._flat = is_flat(target, self._driver) if flat is None else flat
        self._llvm: _Llvm | None = None
        self._pool: bytes | None = None

    @property
    def format(self) -> str:
        """ "flat", or "object" where flat images do not run."""
        return FLAT if self._flat else OBJECT

    def fingerprint(self) -> str:
        """What a Binary depends on besides its Source; found without importing llvmlite."""
        return "|".join(
            (
                f"llvm-{_REVISION}",
                self.format,
                _llvmlite_stamp(self._driver),
                self._target.arch,
                ",".join(self._target.features),
            )
        )

    def compile(self, source: Source) -> Binary:
        """Turn LLVM IR into a Binary.

        Args:
            source: its entry is `void entry(ptr arguments, i64 chunk, i64 worker)`.

        Returns:
            A flat image, or an object where flat images do not run.

        Raises:
            CompileError: the IR is wrong, calls something outside itself, or llvmlite is missing.
        """
        llvm = self._opened()
        code = llvm.emit(source.text, source.entry)
        if self._flat:
            code = self.image_of(code, source.entry, frozenset())
        facts = source.program.launch_facts()
        return Binary(code, self.format, source.entry, facts, self.fingerprint())

    def image_of(self, code: bytes, entry: str, allowed: frozenset[str]) -> bytes:
        """Pack an object and the chunk pool into one image.

        Args:
            code: the object.
            entry: the function to call.
            allowed: C library functions it may call.

        Raises:
            CompileError: it cannot be packed.
        """
        # Packing belongs to compiling: a warm start opens no compiler and pays for no linker.
        from tiny_runtime_cpu.linker import LinkError, flatten

        try:
            return flatten([code, self._pool_object()], (entry, *EXPORTS), allowed)
        except LinkError as error:
            raise CompileError(
                f"the kernel {entry!r} cannot be made into an image",
                why=str(error),
                fix="this is a mistake of the renderer: spell the operation without a call",
            ) from error

    def _pool_object(self) -> bytes:
        if self._pool is None:
            text = pool_text(_machine(self._target))
            assert text is not None, "flat images are made only for machines with a pool"
            self._pool = self._opened().emit(text, EXPORTS[0])
        return self._pool

    def _opened(self) -> "_Llvm":
        if self._llvm is None:
            self._llvm = _Llvm(self._target, flat=self._flat)
        return self._llvm


class _Llvm:
    """LLVM for one target. Names of llvmlite are used only in here and in `link`."""

    def __init__(self, target: Target, *, flat: bool) -> None:
        self._binding = binding = _import_llvmlite()
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        machine = _machine(target)
        if flat and not binding.get_process_triple().startswith(machine):
            binding.initialize_all_targets()
            binding.initialize_all_asmprinters()
        self._triple = f"{machine}-unknown-linux-gnu" if flat else binding.get_process_triple()
        self._machine = binding.Target.from_triple(self._triple).create_target_machine(
            cpu=target.arch if machine == "x86_64" else "generic",
            features=",".join(target.features),
            opt=2,
            reloc="pic",
            codemodel="small",
        )

    def emit(self, text: str, entry: str) -> bytes:
        """An object file with the module's code."""
        try:
            module = self._binding.parse_assembly(text)
            module.triple = self._triple
            module.data_layout = str(self._machine.target_data)
            module.verify()
        except RuntimeError as error:
            raise CompileError(
                f"LLVM does not accept the kernel {entry!r}",
                why=str(error).strip(),
                fix="this is a mistake of the renderer: please report it with the kernel's text",
            ) from error
        if "alloca" in text:
            # Accumulators become registers; nothing else is optimized here.
            builder = self._binding.create_pass_builder(
                self._machine, self._binding.create_pipeline_tuning_options()
            )
            passes = self._binding.create_new_function_pass_manager()
            passes.add_sroa_pass()
            for function in module.functions:
                if not function.is_declaration:
                    passes.run(function, builder)
        code: bytes = self._machine.emit_object(module)
        return code


def _import_llvmlite() -> ModuleType:
    # 50 ms that only a compilation pays: a warm start maps images from a cache.
    try:
        import llvmlite.binding
    except ImportError as error:
        raise CompileError(
            "cannot compile for the CPU: llvmlite is not installed",
            why=str(error),
            fix="pip install llvmlite, or choose the renderer 'c' and install gcc or clang",
        ) from error
    binding: ModuleType = llvmlite.binding
    return binding


def _llvmlite_stamp(driver: Driver) -> str:
    """The version of llvmlite, from the name of the folder its installer left."""
    for folder in driver.search_path():
        for name in driver.names(folder):
            if name.startswith("llvmlite-") and name.endswith((".dist-info", ".egg-info")):
                return name.rpartition(".")[0]
    return "llvmlite"


@boundary
class CCompiler:
    """Compiles C with the compiler of this system.

    Args:
        target: what to compile for; it must be the machine this runs on.
        driver: the operating system.
        command: the compiler and its first arguments; "" looks for gcc, clang and zig; None takes
            the setting CC.
        flat: yield flat images; None where this system can run them.
    """

    name = "c"
    language = "c"

    def __init__(
        self,
        target: Target,
        driver: Driver | None = None,
        *,
        command: str | None = None,
        flat: bool | None = None,
    ) -> None:
        self._driver = driver or Driver()
        self._wanted = settings.c_compiler() if command is None else command
        self._linker = LlvmCompiler(target, self._driver, flat=flat)
        self._command: tuple[str, ...] | None = None

    @property
    def format(self) -> str:
        """ "flat", or "object" where flat images do not run."""
        return self._linker.format

    def fingerprint(self) -> str:
        """What a Binary depends on besides its Source; found without running the compiler."""
        command = self._found()
        stamp = self._driver.stamp(command[0])
        return "|".join((" ".join(command), stamp, " ".join(_C_FLAGS), self._linker.fingerprint()))

    def compile(self, source: Source) -> Binary:
        """Turn C into a Binary.

        Args:
            source: its entry is `void entry(const int64_t* arguments, int64_t chunk, int64_t
                worker)`.

        Returns:
            A flat image, or an object where flat images do not run.

        Raises:
            CompileError: there is no compiler, or it does not accept the text.
        """
        command = (*self._found(), *_C_FLAGS, "-", "-o")
        code, message = self._driver.run_tool(command, source.text, ".o")
        if code is None:
            raise CompileError(
                f"{command[0]} does not accept the kernel {source.entry!r}",
                why=_first_lines(message),
                fix="this is a mistake of the renderer: please report it with the kernel's text",
            )
        if self.format == FLAT:
            code = self._linker.image_of(code, source.entry, C_LIBRARY)
        facts = source.program.launch_facts()
        return Binary(code, self.format, source.entry, facts, self.fingerprint())

    def _found(self) -> tuple[str, ...]:
        if self._command is None:
            self._command = self._find()
        return self._command

    def _find(self) -> tuple[str, ...]:
        wanted = self._wanted.split()
        for name, *arguments in [wanted] if wanted else [["gcc"], ["clang"]]:
            path = self._driver.find_tool(name)
            if path is not None:
                return (path, *arguments)
        if not wanted and any("ziglang" in self._driver.names(f) for f in sys.path):
            return (sys.executable, "-m", "ziglang", "clang")
        raise CompileError(
            f"there is no C compiler{f' {wanted[0]!r}, which CC names' if wanted else ''}",
            why="the renderer 'c' needs one; gcc, clang and the package ziglang were looked for",
            fix="install gcc or clang, or pip install ziglang, or use the renderer 'llvm'",
        )


def _first_lines(message: str, count: int = 12) -> str:
    lines = message.strip().splitlines()
    return "\n".join(lines[:count]) or "it said nothing"


class LinkedObject:
    """An object linked into this process by LLVM: for systems where flat images do not run.

    Args:
        code: an object file of this system.
        entry: the function to find.
    """

    def __init__(self, code: bytes, entry: str) -> None:
        binding = _import_llvmlite()
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        self._jit = binding.create_lljit_compiler()
        library = binding.JITLibraryBuilder().add_object_img(code).add_current_process()
        try:
            # The code is unmapped when this tracker is dropped.
            self._tracker = library.export_symbol(entry).link(self._jit, f"tiny-{id(self)}")
        except RuntimeError as error:
            raise CompileError(
                f"LLVM cannot link the kernel {entry!r}",
                why=str(error).strip(),
                fix="clear the cache of compiled kernels; if it returns, please report it",
            ) from error
        self.address: int = self._tracker[entry]
