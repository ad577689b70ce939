"""How a function of torch is called here: the form of a spelling, and the plain ones by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tiny_tensor import Tensor

SYNONYMS: dict[str, tuple[str, ...]] = {
    "dim": ("axis", "dims", "axes"),
    "dims": ("axis", "axes", "dim"),
    "axis": ("dim",),
    "min": ("min_",),
    "max": ("max_",),
    "negative_slope": ("neg_slope",),
    "sorted": ("sorted_",),
    "size": ("sizes", "shape"),
    "repeats": ("n",),
}
"""Keywords of torch, and what they are called here where a method has no such keyword."""

IGNORED = frozenset({"layout", "pin_memory", "memory_format", "inplace", "requires_grad", "out"})
"""Keywords that say nothing about values."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """What is called with the translated arguments; of random results only the kind is compared."""

    call: Callable[..., Any]
    is_random: bool = False
    random_when: Callable[[dict[str, Any]], bool] | None = None
    """Says of the keyword arguments of a call whether its result is random."""

    results: int | None = None
    """How many of torch's results are compared; the others mean something else here."""

    def gives_random(self, named: dict[str, Any]) -> bool:
        """Return whether the result of a call with these keywords is random."""
        return self.is_random or (self.random_when is not None and self.random_when(named))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(*args, **{k: v for k, v in kwargs.items() if k not in IGNORED})


def method(name: str, **renamed: str) -> Spelling:
    """Return the spelling that calls a method of Tensor with the same arguments."""
    function = getattr(Tensor, name)
    if isinstance(function, property):
        return Spelling(lambda x: getattr(x, name))
    known = inspect.signature(function).parameters

    def call(*args: Any, **kwargs: Any) -> Any:
        named = {}
        for word, value in kwargs.items():
            new = renamed.get(word, word)
            if new not in known:
                new = next((other for other in SYNONYMS.get(new, ()) if other in known), new)
            named[new] = value
        return function(*args, **named)

    return Spelling(call)
