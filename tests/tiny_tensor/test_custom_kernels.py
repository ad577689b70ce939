"""Kernels and bodies that a user wrote: results, laziness, jit, caches, gradients, errors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tiny_ir import (
    ArgumentError,
    ArgumentTypeError,
    AxisKind,
    CompileError,
    GradientError,
    Op,
    ShapeError,
    UOp,
    VerificationError,
    const,
    dtypes,
    make,
)
from tiny_plugin import Argument, PluginError, Program, Source
from tiny_tensor import Session, Tensor, Variable, current_session, jit, kernel_axis
from tiny_tensor.transforms import jvp, vmap

pytestmark = pytest.mark.usefixtures("session")


def product(out: UOp, x: UOp, y: UOp) -> UOp:
    i = kernel_axis(4, 0)
    return out.index(i).store(x.index(i) * y.index(i)).end(i)


def increment(x: UOp) -> UOp:
    i = kernel_axis(4, 0)
    return x.index(i).store(x.index(i) + 1.0).end(i)


def running(x: UOp) -> UOp:
    """Each element becomes the sum of those before it and itself."""
    i = kernel_axis(3, 0, AxisKind.SERIAL)
    return x.index(i + 1).store(x.index(i) + x.index(i + 1)).end(i)


def slopes(gradient: Tensor, out: Tensor, x: Tensor, y: Tensor) -> Sequence[Tensor | None]:
    return None, gradient * y, gradient * x


def multiplied(x: Tensor, y: Tensor) -> Tensor:
    return Tensor.empty(4).custom_kernel(x, y, fxn=product, grad_fxn=slopes)[0]


@pytest.mark.parametrize("device", ["cpu", "python"])
def test_a_kernel_reads_and_writes_its_arguments(device: str) -> None:
    x = Tensor([1.0, 2.0, 3.0, 4.0], device)
    out, same, other = Tensor.empty(4, device=device).custom_kernel(x + 1.0, x.flip(0), fxn=product)
    assert out.tolist() == [8.0, 9.0, 8.0, 5.0]
    assert (same.tolist(), other.tolist()) == ([2.0, 3.0, 4.0, 5.0], [4.0, 3.0, 2.0, 1.0])


def test_arguments_keep_what_they_were() -> None:
    x = Tensor([1.0, 2.0, 3.0, 4.0])
    (after,) = x.custom_kernel(fxn=increment)
    (twice,) = after.custom_kernel(fxn=increment)
    assert (x + 0.0).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert twice.tolist() == [3.0, 4.0, 5.0, 6.0]
    assert after.tolist() == [2.0, 3.0, 4.0, 5.0]


def test_a_serial_axis_runs_in_order() -> None:
    (sums,) = Tensor([1.0, 2.0, 3.0, 4.0]).custom_kernel(fxn=running)
    assert sums.tolist() == [1.0, 3.0, 6.0, 10.0]


def two_passes(out: UOp, x: UOp) -> UOp:
    """What the second loop reads, the first has written."""
    i, j = kernel_axis(4, 0), kernel_axis(4, 1)
    first = out.index(i).store(x.index(i, i < 3) * 2.0).end(i)
    return x.index(j).store(out.after(first).index(3 - j)).end(j)


def test_a_loop_may_come_after_another() -> None:
    x = Tensor([1.0, 2.0, 3.0, 4.0])
    out, turned = Tensor.empty(4).custom_kernel(x, fxn=two_passes)
    assert (out.tolist(), turned.tolist()) == ([2.0, 4.0, 6.0, 0.0], [0.0, 6.0, 4.0, 2.0])


def doubles(first: UOp, second: UOp, x: UOp) -> UOp:
    i = kernel_axis(3, 0)
    value = x.index(i)
    effects = (first.index(i).store(value * 2.0), second.index(i).store(value.cast(second.dtype)))
    return make(Op.END, None, (*effects, i))


def test_a_kernel_may_write_several_arguments_of_any_dtype() -> None:
    x = Tensor([[1.0], [2.0], [3.0]])
    first, second, _ = Tensor.empty(3, 1).custom_kernel(
        Tensor.invalids(3, dtype="int8"), x, fxn=doubles
    )
    assert (first * 1.0).tolist() == [[2.0], [4.0], [6.0]]
    assert second.tolist() == [1, 2, 3]


def test_a_written_view_and_a_whole_write_meet() -> None:
    x = Tensor([1.0, 2.0, 3.0, 4.0, 5.0]).realize()
    part = x[1:]
    y = part.clone()
    out, *_ = Tensor.empty(4).custom_kernel(part, y, fxn=product)
    out.realize(y)
    x.assign(x + out.pad(((1, 0),)))
    assert x.tolist() == [1.0, 6.0, 12.0, 20.0, 30.0]
    assert y.tolist() == [2.0, 3.0, 4.0, 5.0]


def test_a_gradient_function_is_used() -> None:
    x, y = Tensor([1.0, 2.0, 3.0, 4.0]), Tensor([5.0, 6.0, 7.0, 8.0])
    out = multiplied(x, y)
    out.realize()
    first, second = (out * out).sum().gradient(x, y)
    assert first.tolist() == [2.0 * a * b * b for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    assert second.tolist() == [2.0 * a * a * b for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    (again,) = (first * first).sum().gradient(y)
    assert again.tolist() == [
        16.0 * a * a * b**3 for a, b in zip(x.tolist(), y.tolist(), strict=True)
    ]


def test_a_gradient_function_serves_forward_mode() -> None:
    x, y = Tensor([1.0, 2.0, 3.0, 4.0]), Tensor([5.0, 6.0, 7.0, 8.0])
    _, tangent = jvp(lambda a: multiplied(a, y), (x,), (Tensor.ones(4),))
    assert tangent.tolist() == [5.0, 6.0, 7.0, 8.0]


def test_without_one_there_is_no_derivative() -> None:
    x = Tensor([1.0, 2.0, 3.0, 4.0])
    with pytest.raises(GradientError, match="grad_fxn"):
        x.custom_kernel(fxn=increment)[0].sum().gradient(x)
    with pytest.raises(GradientError, match="grad_fxn"):
        jvp(lambda a: a.custom_kernel(fxn=increment)[0], (x,), (x,))
    (slope,) = (x * x.custom_kernel(fxn=increment)[0].detach()).sum().gradient(x)
    assert slope.tolist() == [2.0, 3.0, 4.0, 5.0]


def test_rows_of_a_mapped_function_cannot_share_a_kernel() -> None:
    x = Tensor.ones(2, 4)
    with pytest.raises(GradientError, match="CALL"):
        vmap(lambda row: row.custom_kernel(fxn=increment)[0])(x)


def test_a_captured_kernel_is_replayed() -> None:
    @jit
    def step(x: Tensor, y: Tensor) -> Tensor:
        return multiplied(x, y) + x.custom_kernel(fxn=increment)[0]

    x, y = Tensor([1.0, 2.0, 3.0, 4.0]), Tensor([5.0, 6.0, 7.0, 8.0])
    assert step(x, y).tolist() == [7.0, 15.0, 25.0, 37.0]
    assert step(y, x).tolist() == [11.0, 19.0, 29.0, 41.0]
    assert step.captures() == 1


def test_equal_kernels_are_one_plan_whatever_their_gradient(tmp_path: Path) -> None:
    with Session(cache_folder=str(tmp_path)) as session:
        for factor in (1.0, 2.0):
            out = Tensor.empty(4).custom_kernel(
                Tensor.ones(4).clone(),
                Tensor.ones(4).clone(),
                fxn=product,
                grad_fxn=lambda g, *tensors, factor=factor: [None, g * factor, None],
            )[0]
            out.realize()
        first = session.counters.schedules
    with Session(cache_folder=str(tmp_path)) as session:
        Tensor.empty(4).custom_kernel(Tensor.ones(4).clone(), Tensor.ones(4).clone(), fxn=product)[
            0
        ].realize()
        assert session.counters.schedules == 0
    assert first > 0


def test_a_body_is_called_with_other_tensors() -> None:
    a, b = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
    body = (a.as_param(0) * b.as_param(1)).sum()
    assert a.call(b, fxn=body).item() == 11.0
    (slope,) = a.call(b, fxn=body).gradient(a)
    assert slope.tolist() == [3.0, 4.0]
    marked = a.call(b, fxn=body, grad_fxn=lambda g, out, x, y: (g * y * 10.0, None))
    first, second = marked.gradient(a, b)
    assert (first.tolist(), second.tolist()) == ([30.0, 40.0], [0.0, 0.0])


def test_a_placeholder_has_no_data() -> None:
    x = Tensor([1.0, 2.0])
    with pytest.raises(ArgumentError, match="placeholder"):
        (x.as_param(0) + 1.0).realize()
    with pytest.raises(ArgumentError, match="no argument 1"):
        x.call(fxn=x.as_param(1))
    with pytest.raises(ShapeError, match="argument 0"):
        Tensor([1.0, 2.0, 3.0]).call(fxn=x.as_param(0))
    with pytest.raises(ArgumentError, match="no argument -1"):
        x.as_param(-1)


def test_what_is_no_kernel_is_refused() -> None:
    x = Tensor([1.0, 2.0, 3.0, 4.0])
    zero = const(dtypes.weakint, 0)
    size = Variable("n", 1, 4).bind(2).src[0]
    with pytest.raises(ArgumentTypeError, match="returned a int"):
        x.custom_kernel(fxn=lambda _: 7)  # type: ignore[arg-type,return-value]
    with pytest.raises(ArgumentError, match="writes to none"):
        x.custom_kernel(fxn=lambda _: make(Op.SINK))
    with pytest.raises(VerificationError):
        x.custom_kernel(fxn=lambda p: p.index(zero) + 1.0)
    with pytest.raises(VerificationError):
        x.custom_kernel(fxn=lambda p: p.index(kernel_axis(4, 0)).store(const(p.dtype, 1)))
    with pytest.raises(ArgumentError, match="VARIABLE"):
        x.custom_kernel(fxn=lambda p: p.index(size).store(p.index(zero)))
    with pytest.raises(ShapeError, match="cannot have shape"):
        x[: Variable("n", 1, 4).bind(2)].custom_kernel(fxn=increment)
    with pytest.raises(GradientError, match="writes 2 arguments"):
        Tensor.empty(3).custom_kernel(
            Tensor.empty(3), Tensor.empty(3), fxn=doubles, grad_fxn=lambda g, *tensors: tensors
        )


TRIPLE = """
void triple(const long long *args, long long chunk, long long worker) {
    float *out = (float *)args[0];
    const float *x = (const float *)args[1];
    for (int i = 0; i < 2; i++) out[2 * chunk + i] = 3 * x[2 * chunk + i];
}
"""
"""C, for chunks of two elements."""


def written_in(language: str, text: str, *arguments: Argument, entry: str = "triple") -> Source:
    target = current_session().device("cpu").target
    return Source(text, language, entry, Program(entry, target, (), (2,), arguments=arguments))


def out_and_in(elements: int = 4) -> tuple[Argument, Argument]:
    float32 = dtypes.float32
    return Argument(float32, elements, False, True), Argument(float32, elements, True, False)


def test_a_kernel_may_be_text(session: Session) -> None:
    source = written_in("c", TRIPLE, *out_and_in())
    x = Tensor([1.0, 2.0, 3.0, 4.0])
    out, _ = Tensor.empty(2, 2).custom_kernel(
        x + 1.0, fxn=source, grad_fxn=lambda g, out, x: (None, g.flatten() * 3.0)
    )
    assert (out + 1.0).tolist() == [[7.0, 10.0], [13.0, 16.0]]
    assert out.sum().gradient(x)[0].tolist() == [3.0] * 4
    made = session.counters.binaries + session.counters.cached_binaries
    again, _ = Tensor.empty(2, 2).custom_kernel(Tensor.ones(4) * 2.0, fxn=source)
    assert again.tolist() == [[6.0, 6.0], [6.0, 6.0]]
    assert session.counters.binaries + session.counters.cached_binaries - made <= 1


def test_text_in_llvm_needs_no_toolchain() -> None:
    text = """
define void @seven(ptr %args, i64 %chunk, i64 %worker) {
  %out = load ptr, ptr %args
  %place = getelementptr float, ptr %out, i64 %chunk
  store float 7.0, ptr %place
  ret void
}
"""
    x = Tensor([1.0, 2.0, 3.0])
    argument = Argument(dtypes.float32, 3, True, True)
    (out,) = x.custom_kernel(fxn=written_in("llvm", text, argument, entry="seven"))
    assert (out.tolist(), x.tolist()) == ([7.0, 7.0, 3.0], [1.0, 2.0, 3.0])


def test_text_declares_what_it_is_given() -> None:
    x, out = Tensor([1.0, 2.0]), Tensor.empty(4)
    with pytest.raises(ArgumentError, match="given 4 of float32, 2 of float32"):
        out.custom_kernel(x, fxn=written_in("c", TRIPLE, *out_and_in()))
    first, second = out_and_in()
    with pytest.raises(ArgumentError, match="writes at least one"):
        out.custom_kernel(fxn=written_in("c", TRIPLE, second))
    wrong = written_in("c", "nonsense", first)
    with pytest.raises(CompileError):
        out.custom_kernel(fxn=wrong)[0].realize()
    with pytest.raises(PluginError, match="fortran"):
        out.custom_kernel(fxn=written_in("fortran", TRIPLE, first))[0].realize()
