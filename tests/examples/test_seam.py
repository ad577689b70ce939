"""Each part below the engine can be another's: found by its name, chosen by a setting."""

from __future__ import annotations

from collections.abc import Callable

TRAINING = """
import sys
from tiny_tensor import Tensor, nn

x = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
assert (x + 1).tolist() == [[2.0, 3.0, 4.0], [5.0, 6.0, 7.0]]
assert (x @ x.T).tolist() == [[14.0, 32.0], [32.0, 77.0]]
assert x.softmax(axis=1).sum().item() == 2.0
assert (Tensor([7, -7]) // 2).tolist() == [3, -4]

Tensor.manual_seed(0)
layer = nn.Linear(3, 1)
optimizer = nn.optim.SGD(nn.state.get_parameters(layer), lr=0.01)
losses = []
for _ in range(5):
    loss = (layer(x) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses == sorted(losses, reverse=True)
print(*sorted(name for name in sys.modules if "." not in name))
"""


def test_nothing_of_ours_is_needed_below_the_engine(run: Callable[..., str]) -> None:
    loaded = run("-c", TRAINING, TINY_DEVICE="stack", TINY_CODEGEN="simple").split()
    assert {"tiny_tensor", "tiny_backend_stack", "tiny_codegen_simple"} <= set(loaded)
    ours = ["tiny_codegen", "tiny_renderers", "tiny_runtime_cpu", "tiny_runtime_python", "llvmlite"]
    assert [name for name in ours if name in loaded] == []


def test_a_device_without_a_renderer_trains(run: Callable[..., str]) -> None:
    loaded = run("-c", TRAINING, TINY_DEVICE="stack").split()
    assert {"tiny_codegen", "tiny_backend_stack"} <= set(loaded)
    assert "tiny_renderers" not in loaded


def test_a_code_generator_takes_over_by_its_name(run: Callable[..., str]) -> None:
    loaded = run("-c", TRAINING, TINY_DEVICE="python", TINY_CODEGEN="simple").split()
    assert "tiny_codegen_simple" in loaded
    assert "tiny_codegen" not in loaded


def test_a_renderer_takes_over_by_its_name(run: Callable[..., str]) -> None:
    loaded = run("-c", TRAINING, TINY_DEVICE="python", TINY_RENDERER="acme").split()
    assert "acme_renderer" in loaded
    assert "tiny_renderers" not in loaded


def test_a_runtime_takes_over_the_name_of_ours(run: Callable[..., str]) -> None:
    loaded = run("-c", TRAINING, TINY_PLUGIN_CPU="acme-cpu").split()
    assert "acme_cpu" in loaded
    assert [name for name in ("tiny_runtime_cpu", "llvmlite") if name in loaded] == []


def test_two_runtimes_of_one_name_are_refused_until_one_is_chosen(run: Callable[..., str]) -> None:
    ask = (
        "from tiny_tensor import Tensor\n"
        "try:\n    Tensor([1]).tolist()\n"
        "except Exception as error:\n    print(error)"
    )
    said = run("-c", ask)
    assert "acme-cpu" in said
    assert "tiny-runtime-cpu" in said
    assert "TINY_PLUGIN_CPU" in said
