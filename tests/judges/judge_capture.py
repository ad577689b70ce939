"""Random functions give the same captured as called: results, writes in place and random draws."""

from __future__ import annotations

import random
from collections.abc import Callable

from tiny_tensor import Session, Tensor, jit

CASES = 2000

SHAPES = ((4,), (2, 3), (3, 2))
CALLS = 4
Function = Callable[[list[Tensor]], object]

_SESSION = Session(device="cpu")


def judge(case: int) -> dict[str, str | float]:
    """Call one random function several times, captured and not, from equal states.

    Raises:
        AssertionError: anything that can be seen differs.
    """
    with _SESSION:
        plain = observed(case, captured=False)
        replayed = observed(case, captured=True)
    assert replayed == plain, (case, plain, replayed)
    return {"calls": "all", "seen": float(len(plain))}


def observed(case: int, *, captured: bool) -> list[object]:
    """All numbers that can be seen before, between and after the calls."""
    draw = random.Random(case)
    Tensor.manual_seed(case)
    states = [_tensor(draw) for _ in range(draw.randint(1, 3))]
    body = draw.randrange(1 << 30)
    shapes = [draw.choice(SHAPES) for _ in range(draw.randint(1, 2))]

    def plain(arguments: list[Tensor]) -> object:
        return _body(random.Random(body), states, arguments)

    function: Function = jit(plain) if captured else plain
    kept: list[object] = []
    last: list[Tensor] = []
    for _ in range(CALLS):
        arguments = [_tensor(draw, shape) for shape in shapes]
        if last and last[0].shape == arguments[0].shape and draw.random() < 0.5:
            # A view of a state may not come in by a second way, where the state is written.
            boxes = {state._storage for state in states}
            arguments[0] = last[0] + 0 if last[0]._storage in boxes else last[0]
        # Between calls others read, share or write the states.
        match draw.choice(("nothing", "read", "share", "write", "view")):
            case "read":
                kept.append(draw.choice(states) * 2)
            case "share":
                kept.append(Tensor(draw.choice(states)))
            case "write":
                state = draw.choice(states)
                state[0].assign(draw.randint(-5, 5))
            case "view":
                kept.append(draw.choice(states)[:1])
        last = _tensors(function(arguments))
        kept += [last, arguments]
    return [tensor.tolist() for tensor in _tensors([kept, states])]


def _body(draw: random.Random, states: list[Tensor], arguments: list[Tensor]) -> object:
    """What the function does: always the same for one seed."""
    pool = [*states, *arguments]
    for _ in range(draw.randint(2, 6)):
        tensor = draw.choice(pool)
        match draw.choice(("scale", "join", "view", "write", "write", "part", "random", "sum")):
            case "scale":
                pool.append(tensor * draw.randint(2, 4) + 1)
            case "join":
                other = draw.choice(pool)
                if other.shape == tensor.shape:
                    pool.append(tensor + other)
            case "view":
                pool.append(tensor[1:])
            case "write":
                tensor.assign(tensor * 2 + 1)
            case "part":
                if tensor.shape[0] != 0:
                    tensor[:1].assign(draw.randint(-5, 5))
            case "random":
                pool.append(Tensor.randint(*tensor.shape, low=0, high=9) + tensor)
            case "sum":
                pool.append(tensor.sum(0, keepdim=True, dtype="int32"))
    results = draw.sample(pool, draw.randint(1, min(3, len(pool))))
    return {"all": results, "first": (results[0], 7)} if draw.random() < 0.5 else results


def _tensor(draw: random.Random, shape: tuple[int, ...] | None = None) -> Tensor:
    shape = shape or draw.choice(SHAPES)
    count = 1
    for size in shape:
        count *= size
    data = Tensor([draw.randint(-9, 9) for _ in range(count)]).reshape(shape)
    return data + 1 if draw.random() < 0.3 else data


def _tensors(value: object) -> list[Tensor]:
    match value:
        case Tensor():
            return [value]
        case list() | tuple():
            return [tensor for item in value for tensor in _tensors(item)]
        case dict():
            return [tensor for item in value.values() for tensor in _tensors(item)]
    return []
