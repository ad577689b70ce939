"""No method computes through the host: all run on the device that cannot be read back.

A method is called with arguments made for the names of its parameters; those that need others are
listed. A new method is called too.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tiny_ir import Op, TinyError, dtypes
from tiny_tensor import Tensor, kernel_axis
from tiny_tensor.engine.call_arguments import tensors_in
from tiny_tensor.transforms import hessian, jacrev, jvp, vmap

pytestmark = pytest.mark.usefixtures("session")

NULL = "null"


def floats(*shape: int) -> Tensor:
    return Tensor.full(shape or (4, 4), 0.5, device=NULL).contiguous()


def integers(*shape: int) -> Tensor:
    return Tensor.full(shape or (4, 4), 1, device=NULL).contiguous()


def bools() -> Tensor:
    return floats() > 0


def images(*shape: int) -> Tensor:
    return floats(*(shape or (1, 2, 4, 4)))


NAMED: dict[str, Callable[[], object]] = {
    "other": floats,
    "end": floats,
    "value": floats,
    "values": floats,
    "elements": floats,
    "x": floats,
    "y": floats,
    "weight": floats,
    "mask": bools,
    "target": floats,
    "mean": lambda: floats(4),
    "invstd": lambda: floats(4),
    "bias": lambda: None,
    "index": integers,
    "src": floats,
    "key": floats,
    "reduce": lambda: "sum",
    "dim": lambda: 0,
    "dim0": lambda: 0,
    "axis": lambda: 0,
    "source": lambda: 0,
    "destination": lambda: 1,
    "dtype": lambda: "float16",
    "n": lambda: 2,
    "m": lambda: 2,
    "k": lambda: 2,
    "p": lambda: 2,
    "q": lambda: 0.25,
    "steps": lambda: 2,
    "size": lambda: 2,
    "step": lambda: 1,
    "sizes": lambda: 2,
    "shifts": lambda: 1,
    "repeats": lambda: 2,
    "exponent": lambda: 2,
    "start": lambda: 2,
    "stop": lambda: 4,
    "fill_value": lambda: 2.0,
    "device": lambda: "null:1",
    "boundaries": lambda: floats(4),
    "bits": lambda: 0x3F800000,
    "length": lambda: 2,
    "parts": lambda: 2,
    "var": floats,
    "positive": floats,
    "negative": floats,
    "output_size": lambda: 3,
    "threshold": lambda: 1.0,
}
"""What a parameter of a name is given."""

CALLED: dict[str, Callable[[], object]] = {
    "adaptive_max_pool2d": lambda: images().adaptive_max_pool2d((3, 1), True),
    "cosine_embedding_loss": lambda: floats().cosine_embedding_loss(floats(), integers(4)),
    "dsplit": lambda: images().dsplit(2),
    "geometric": lambda: Tensor.geometric(4, p=0.5, device=NULL),
    "multi_margin_loss": lambda: floats().multi_margin_loss(integers(4)),
    "multilabel_margin_loss": lambda: floats().multilabel_margin_loss(integers()),
    "narrow": lambda: floats().narrow(0, 1, 2),
    "prelu": lambda: images().prelu(floats(2)),
    "hstack": lambda: floats().hstack(floats()),
    "vstack": lambda: floats().vstack(floats()),
    "dstack": lambda: floats().dstack(floats()),
    **{
        name: lambda name=name: getattr(floats(), name)(floats(), floats())  # type: ignore[misc]
        for name in ("addcmul", "addcdiv", "addmm")
    },
    "embedding_bag": lambda: floats().embedding_bag(integers()),
    "fold2d": lambda: floats(1, 4, 4).fold2d((3, 3), 2),
    "grid_sample": lambda: images().grid_sample(images(1, 3, 3, 2)),
    "unfold2d": lambda: images().unfold2d(2),
    "addmv": lambda: floats(4).addmv(floats(), floats(4)),
    "addr": lambda: floats().addr(floats(4), floats(4)),
    "addbmm": lambda: floats().addbmm(floats(2, 4, 3), floats(2, 3, 4)),
    "baddbmm": lambda: floats().baddbmm(floats(2, 4, 3), floats(2, 3, 4)),
    "alu": lambda: floats().alu(Op.FMA, 2.0, 3.0),
    "bitwise_and": lambda: integers().bitwise_and(3),
    "bitwise_or": lambda: integers().bitwise_or(3),
    "bitwise_xor": lambda: integers().bitwise_xor(3),
    "bitwise_not": lambda: integers().bitwise_not(),
    "lshift": lambda: integers().lshift(3),
    "rshift": lambda: integers().rshift(3),
    "bitcast": lambda: floats().bitcast("int32"),
    "avg_pool2d": lambda: images().avg_pool2d(),
    "max_pool2d": lambda: images().max_pool2d(return_indices=True),
    "max_unpool2d": lambda: images(1, 2, 2, 2).max_unpool2d(integers(1, 2, 2, 2)),
    "conv2d": lambda: images().conv2d(images(2, 2, 3, 3)),
    "conv_transpose2d": lambda: images().conv_transpose2d(images(2, 2, 3, 3)),
    "interpolate": lambda: images().interpolate((7, 7)),
    "cross": lambda: floats(4, 3).cross(floats(4, 3)),
    "cross_entropy": lambda: floats().cross_entropy(integers(4)),
    "nll_loss": lambda: floats().nll_loss(integers(4)),
    "sparse_categorical_crossentropy": lambda: floats().sparse_categorical_crossentropy(
        integers(4)
    ),
    "einsum": lambda: Tensor.einsum("ij,jk->ik", floats(), floats()),
    "clamp": lambda: floats().clamp(0, 1),
    "clip": lambda: floats().clip(0, 1),
    "const_like": lambda: floats().const_like(2),
    **{
        name: lambda name=name: getattr(floats(4, 2), name)()  # type: ignore[misc]
        for name in ("conjugate", "fft", "ifft", "hfft", "irfft")
    },
    **{
        name: lambda name=name: getattr(floats(4, 4, 2), name)()  # type: ignore[misc]
        for name in ("fftn", "ifftn", "irfftn")
    },
    "full": lambda: Tensor.full((2, 2), 3.0, device=NULL),
    "linspace": lambda: Tensor.linspace(0, 1, 5, device=NULL),
    "kron": lambda: floats(2, 2).kron(floats(2, 2)),
    "masked_select": lambda: floats().masked_select(bools(), size=3),
    "nonzero": lambda: floats().nonzero(size=3),
    "one_hot": lambda: integers().one_hot(3),
    "mvlgamma": lambda: floats().mvlgamma(2),
    "newton_schulz": lambda: floats().newton_schulz(2, (2.0, -1.5, 0.5)),
    "outer": lambda: floats(4).outer(floats(4)),
    "pad": lambda: floats().pad((1, 1)),
    "rearrange": lambda: floats().rearrange("(a b) c -> a b c", a=2),
    "scaled_dot_product_attention": lambda: floats().scaled_dot_product_attention(
        floats(), floats(), is_causal=True
    ),
    "scatter": lambda: floats().scatter(0, integers(), floats()),
    "searchsorted": lambda: floats(4).searchsorted(floats(4)),
    "sequential": lambda: floats().sequential([Tensor.exp, Tensor.sum]),
    "shrink": lambda: floats().shrink(((0, 2), None)),
    "squeeze": lambda: floats(1, 4).squeeze(0),
    "unflatten": lambda: floats().unflatten(0, (2, 2)),
    "trace": lambda: floats().trace(),
    "tensordot": lambda: floats().tensordot(floats(), 1),
    "reshape": lambda: floats().reshape(2, 8),
    "view": lambda: floats().view(2, 8),
    "expand": lambda: floats(1, 4).expand(4, 4),
    "permute": lambda: floats().permute(1, 0),
    "flip": lambda: floats().flip(0),
    "repeat": lambda: floats().repeat(2, 1),
    "tile": lambda: floats().tile(2, 1),
    "mv": lambda: floats().mv(floats(4)),
    "swapaxes": lambda: floats().swapaxes(0, 1),
    "swapdims": lambda: floats().swapdims(0, 1),
    "take_along_dim": lambda: floats().take_along_dim(integers(4, 4), 1),
    "cat": lambda: floats().cat(floats()),
    "stack": lambda: floats().stack(floats()),
    "meshgrid": lambda: floats(4).meshgrid(floats(2)),
    "pad_to": lambda: floats().pad_to(5, 5),
    "shrink_to": lambda: floats().shrink_to(2, 2),
    "diag": lambda: floats(4).diag(),
    "multinomial": lambda: floats().multinomial(2),
    "gradient": lambda: _slopes(),
    "backward": lambda: _slopes(),
    "uniform": lambda: Tensor.uniform(4, low=1.0, high=2.0, device=NULL),
    "batchnorm": lambda: images().batchnorm(None, None, floats(2), floats(2)),
    "where": lambda: bools().where(floats(), 0.0),
    "masked_fill": lambda: floats().masked_fill(bools(), 2.0),
    "lerp": lambda: floats().lerp(floats(), 0.5),
    "to_device": lambda: floats().to_device("null:1"),
    "custom_kernel": lambda: _doubled(floats(4)),
    "call": lambda: floats().call(fxn=floats().as_param(0) + 1.0),
    "hash": list,  # keccak, of 256 rows: its kernels take long to compile
    "keccak": lambda: Tensor.full((8,), 1, "uint8", NULL).contiguous().keccak(),
    "image_conv2d": lambda: images().image_conv2d(images(2, 2, 3, 3)),
    "random_bits": lambda: Tensor.random_bits(1, 2, 3, NULL),
    "threefry": lambda: floats().cast("uint64").threefry(7),
    "shard": lambda: floats().shard((NULL,), 0),
    "shard_": lambda: floats().shard_((NULL,)),
}
"""Methods that need other arguments."""

COUNTED = {
    "masked_select": lambda: floats().masked_select(bools()),
    "nonzero": lambda: floats().nonzero(),
    "mask": lambda: floats()[bools()],
    "unique": lambda: floats().unique(),
    "unique_all": lambda: floats().unique_all(),
    "bincount": lambda: integers(4).bincount(),
    "one_hot": lambda: integers().one_hot(),
}
"""The shape depends on the data."""

READ = frozenset(("tolist", "numpy", "item", "data", "allclose"))
"""The host is what they are for."""

FACTS = frozenset(
    ("device", "dtype", "grad", "is_param", "is_param_", "max_shape", "ndim", "shape", "size")
    + ("uop", "whole", "settle", "training", "train", "manual_seed", "from_dlpack")
    + ("as_param", "const", "from_blob", "from_url", "decode_hevc_frame")
)
"""What is known without computing, belongs to the engine, or brings data from the host."""


def _doubled(x: Tensor) -> list[Tensor]:
    i = kernel_axis(4, 0)
    return x.empty_like().custom_kernel(
        x, fxn=lambda out, x: out.index(i).store(x.index(i) * 2.0).end(i)
    )


def _slopes() -> list[Tensor]:
    x = floats()
    y = (x.softmax(1).cumsum(1) @ x).sort(0)[0]
    y.sum().backward()
    assert x.grad is not None
    return [x.grad, *y.sum().gradient(x)]


def names() -> Iterator[str]:
    """The public methods of Tensor that compute something."""
    for name in dir(Tensor):
        if not name.startswith("_") and name not in READ | FACTS | (set(COUNTED) - set(CALLED)):
            yield name


def called(name: str) -> object:
    """Call a method on the null device."""
    if name in CALLED:
        return CALLED[name]()
    found = inspect.getattr_static(Tensor, name)
    if isinstance(found, property):
        return getattr(floats(), name)
    parameters = inspect.signature(getattr(Tensor, name)).parameters
    given: dict[str, Any] = {}
    sizes: list[int] = []
    for parameter in list(parameters.values()):
        if parameter.name == "self" or parameter.kind is parameter.VAR_KEYWORD:
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            sizes = [4, 4] if parameter.name in ("shape", "sizes") else []
        elif parameter.name == "device" and parameter.default is not parameter.empty:
            given["device"] = NULL
        elif parameter.default is parameter.empty:
            assert parameter.name in NAMED, (
                f"say in CALLED how to call {name}, or in NAMED what its {parameter.name} is"
            )
            given[parameter.name] = NAMED[parameter.name]()
    owner = Tensor if isinstance(found, classmethod | staticmethod) else floats()
    return getattr(owner, name)(*sizes, **given)


@pytest.mark.parametrize("name", list(names()))
def test_runs_where_nothing_can_be_read(name: str) -> None:
    tensors = list(tensors_in(called(name)))
    for tensor in tensors:
        assert tensor.device.startswith(NULL)
    if tensors:
        tensors[0].realize(*tensors[1:])


@pytest.mark.parametrize("name", list(COUNTED))
def test_only_shapes_that_depend_on_data_need_the_host(name: str) -> None:
    with pytest.raises(TinyError):
        COUNTED[name]()


def test_nothing_is_read_back() -> None:
    for name in sorted(READ - {"allclose", "item"}):
        with pytest.raises(TinyError):
            getattr(floats(), name)()


BESIDE = frozenset(("backward", "gradient", "shard_like"))
"""Their tensors stand for others, not beside this one."""


def misplaced() -> Iterator[tuple[str, str]]:
    """Methods that can be called by the names of their parameters, and those that are tensors."""
    for name in names():
        found = inspect.getattr_static(Tensor, name)
        if isinstance(found, property) or name in CALLED | dict.fromkeys(BESIDE):
            continue
        for parameter in inspect.signature(getattr(Tensor, name)).parameters.values():
            is_one = parameter.kind is not parameter.VAR_POSITIONAL
            if is_one and parameter.annotation in ("Self", "Self | None"):
                yield name, parameter.name


@pytest.mark.parametrize("wrong", [7, "seven", [7]], ids=repr)
def test_what_is_no_tensor_is_taken_as_one_or_refused(wrong: object) -> None:
    for name, place in misplaced():
        parameters = inspect.signature(getattr(Tensor, name)).parameters.values()
        given = {
            parameter.name: NAMED[parameter.name]()
            for parameter in parameters
            if parameter.default is parameter.empty and parameter.name in NAMED
        }
        try:
            getattr(floats(), name)(**given | {place: wrong})
        except TinyError:
            continue
        except Exception as error:
            raise AssertionError(f"{name}({place}={wrong!r}) raises {error!r}") from error


def test_parts_are_read_and_written() -> None:
    x = floats()
    parts = [x[1], x[::-2], x[..., None], x[[0, 2]], x[integers(2), integers(2)], x[:, [1, 1]]]
    x[1] = 3.0
    x[[0, 2]] = 4.0
    x[bools()] = 5.0
    x[bools()] = floats(2)
    x[1:] += x[:-1]
    x.realize(*parts)


def test_transformations_run() -> None:
    x = floats()
    value, speed = jvp(lambda x: x.softmax(1), (x,), (x,))
    rows = vmap(lambda row: row.sort()[0] * row.sum())(x)
    jacobian = jacrev(lambda x: x.cumsum())(x[0])
    second = hessian(lambda x: (x * x).sum())(x[0])
    value.realize(speed, rows, jacobian, second)


def test_all_dtypes_run() -> None:
    for dtype in (dtypes.bool_, dtypes.int8, dtypes.uint64, dtypes.bfloat16, dtypes.float8_e5m2):
        x = floats().cast(dtype)
        x.sum().realize(x.max(), x.sort()[0], x.cast("float64"))
