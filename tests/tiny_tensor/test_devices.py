"""Tensors on several devices, through renderers and compilers or an assembler."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import cast

import pytest

from tiny_ir import DeviceError, Op, RunError, UOp, make
from tiny_plugin import Assembler, Binary, Offer, Program, Registry, Runtime, Target
from tiny_tensor import Session, Tensor, jit
from tiny_tensor.engine.records import from_bytes, to_bytes

pytestmark = pytest.mark.usefixtures("session")


def test_a_tensor_moves_and_is_computed_on_both_sides() -> None:
    x = Tensor([1, 2, 3]) * 2
    there = x.to("python") + 1
    assert there.device == "python"
    assert there.tolist() == [3, 5, 7]
    assert there.to("cpu").sum().item() == 15
    assert x.to("cpu") is x


def test_a_view_moves_in_its_own_order() -> None:
    x = Tensor([[1, 2], [3, 4]])
    assert x.permute(1, 0).to("python").tolist() == [[1, 3], [2, 4]]


def test_a_copy_stays_where_it_was_made() -> None:
    there = Tensor([1, 2], device="python")
    assert there.clone().device == "python"
    assert there.clone("cpu").tolist() == [1, 2]


def test_a_gradient_moves_with_its_tensor() -> None:
    x = Tensor([1.0])
    x.grad = Tensor([2.0])
    moved = x.to("python")
    assert moved.grad is not None
    assert moved.grad.device == "python"
    assert moved.grad.tolist() == [2.0]


def test_two_devices_do_not_mix() -> None:
    with pytest.raises(DeviceError, match="python"):
        Tensor([1]) + Tensor([1], device="python")
    with pytest.raises(DeviceError, match="python"):
        Tensor([1]).assign(Tensor([1], device="python"))


def test_random_numbers_are_the_same_everywhere() -> None:
    Tensor.manual_seed(3)
    here = Tensor.rand(5).tolist()
    Tensor.manual_seed(3)
    assert Tensor.rand(5, device="python").tolist() == here


def test_a_captured_function_crosses_devices() -> None:
    @jit
    def away(x: Tensor) -> Tensor:
        return (x * 2).to("python") + 1

    assert [away(Tensor([k])).tolist() for k in range(3)] == [[1], [3], [5]]


def test_a_device_that_computes_nothing_is_realized() -> None:
    x = (Tensor([1, 2, 3], device="null") * 2).realize()
    assert x.shape == (3,)


def test_the_default_device_is_that_of_the_session(cache_folder: Path) -> None:
    with Session(device="python", cache_folder=str(cache_folder)):
        x = Tensor([1.0, 2.0])
        assert x.device == "python"
        assert (x * x).tolist() == [1.0, 4.0]


def test_another_renderer_is_a_setting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TINY_RENDERER", "c")
    with Session(cache_folder=str(tmp_path)) as session:
        assert (Tensor([1.0, 2.0, 3.0]) + 0.5).tolist() == [1.5, 2.5, 3.5]
        assert session.device("cpu").toolchain.compiler_name == "c"


class Interpreting:
    """An assembler whose Binaries are the Program itself, for the runtime that runs them."""

    name = "steps"
    format = "steps"

    def __init__(self, runtime: Runtime, registry: Registry) -> None:
        self.assembled = 0
        self._renderer = registry.open_renderer(runtime.renderer, runtime.target)
        self._compiler = registry.open_compiler(runtime.compiler, runtime.target)

    def assemble(self, program: Program) -> Binary:
        """The Program, compiled on the way for the runtime below."""
        self.assembled += 1
        return self._compiler.compile(self._renderer.render(program))

    def fingerprint(self) -> str:
        """Nothing else matters."""
        return "steps 1"


class WithoutRendererName:
    """A runtime that does all that another does, and wants no renderer."""

    renderer = ""
    compiler = "steps"

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def __getattr__(self, name: str) -> object:
        return getattr(self._runtime, name)


class WithoutRenderer(Registry):
    """A registry whose one device names no renderer."""

    def __init__(self) -> None:
        super().__init__()
        inner = super().open_runtime("python")
        self.assembler = Interpreting(inner, Registry())
        self.runtime = cast(Runtime, WithoutRendererName(inner))

    def open_runtime(self, name: str, ordinal: int = 0) -> Runtime:
        """The one device."""
        return self.runtime

    def open_assembler(self, name: str, target: Target) -> Assembler:
        """Its assembler."""
        assert name == "steps"
        return self.assembler

    def offer_of(self, group: str, name: str) -> Offer:
        """The assembler comes with nobody's distribution."""
        if name == "steps":
            return Offer(group, name, "json", "steps", "1")
        return super().offer_of(group, name)


def test_an_assembler_takes_the_place_of_renderer_and_compiler(tmp_path: Path) -> None:
    registry = WithoutRenderer()
    with Session(registry, device="python", cache_folder=str(tmp_path)):
        assert (Tensor([1, 2]) + 1).tolist() == [2, 3]
    assert registry.assembler.assembled == 1


def test_a_cache_entry_makes_records_only() -> None:
    node = make(Op.SINK)
    assert from_bytes(to_bytes((node, 1), {}), {}) == (node, 1)
    assert isinstance(from_bytes(to_bytes(node, {}), {}), UOp)
    with pytest.raises(pickle.UnpicklingError, match="names"):
        from_bytes(pickle.dumps(Path), {})


def test_a_chosen_renderer_that_the_device_cannot_use_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TINY_RENDERER", "python")
    with Session(), pytest.raises(RunError, match=r"unset TINY_RENDERER"):
        (Tensor([1], device="cpu") + 1).realize()
