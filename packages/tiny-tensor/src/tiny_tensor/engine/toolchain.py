"""What turns Programs into Binaries for one device: a renderer and a compiler, or an assembler."""

from __future__ import annotations

from tiny_ir import Op, UnsupportedError
from tiny_plugin import (
    Assembler,
    Binary,
    Compiler,
    Offer,
    Program,
    Registry,
    Renderer,
    Runtime,
    Source,
)

RENDERER, COMPILER = "tiny.renderer", "tiny.compiler"


class Toolchain:
    """The plugins that one runtime asks for; each is opened when it is first needed.

    Args:
        runtime: says which renderer and compiler it wants.
        registry: opens them.
        renderer: takes the place of the renderer that the runtime wants; "" for none.
    """

    def __init__(self, runtime: Runtime, registry: Registry, renderer: str = "") -> None:
        self._registry = registry
        self._runtime = runtime
        self._target = runtime.target
        self.renderer_name = (renderer or runtime.renderer) if runtime.renderer else ""
        self.chosen_renderer = renderer
        self._renderer: Renderer | None = None
        self._compiler: Compiler | None = None
        self._assembler: Assembler | None = None
        self.compiler_name = self._name_of_compiler(renderer)

    def _name_of_compiler(self, renderer: str) -> str:
        """The compiler that takes what the renderer writes: the runtime's, or one of that name."""
        if not self.renderer_name or self.renderer_name == self._runtime.renderer:
            return self._runtime.compiler
        return self._opened_renderer().language

    def offers(self) -> tuple[Offer, ...]:
        """The plugins, for the versions in a key."""
        found = [self._registry.offer_of(COMPILER, self.compiler_name)]
        if self.renderer_name:
            found.append(self._registry.offer_of(RENDERER, self.renderer_name))
        return tuple(found)

    def fingerprint(self) -> str:
        """What a Binary depends on besides its Program and the versions of the plugins."""
        maker = self._opened_compiler() if self.renderer_name else self._opened_assembler()
        return f"{self.renderer_name}|{self.compiler_name}|{maker.fingerprint()}"

    def binary_of(self, program: Program) -> Binary:
        """Render and compile, or assemble; what a user wrote as text is only compiled.

        Raises:
            CompileError: the compiler refuses what it was given.
        """
        written = source_of(program)
        if written is not None:
            return self._registry.open_compiler(written.language, self._target).compile(written)
        if not self.renderer_name:
            return self._opened_assembler().assemble(program)
        source = self._opened_renderer().render(program)
        compiler = self._opened_compiler()
        if compiler.language != source.language:
            raise UnsupportedError(
                f"the compiler {compiler.name!r} does not take {source.language!r}.",
                why=f"the renderer {self.renderer_name!r} writes it, and the compiler takes "
                f"{compiler.language!r}.",
                fix="choose a renderer and a compiler of one language.",
            )
        return compiler.compile(source)

    def _opened_renderer(self) -> Renderer:
        if self._renderer is None:
            self._renderer = self._registry.open_renderer(self.renderer_name, self._target)
        return self._renderer

    def _opened_compiler(self) -> Compiler:
        if self._compiler is None:
            self._compiler = self._registry.open_compiler(self.compiler_name, self._target)
        return self._compiler

    def _opened_assembler(self) -> Assembler:
        if self._assembler is None:
            self._assembler = self._registry.open_assembler(self.compiler_name, self._target)
        return self._assembler


def source_of(program: Program) -> Source | None:
    """The text of a Program that a user wrote; None where it is made of nodes."""
    if len(program.uops) != 1 or program.uops[0].op is not Op.CALL:
        return None
    arg = program.uops[0].arg
    return Source(arg.kernel, arg.source.language, arg.source.entry, program.launch_facts())
