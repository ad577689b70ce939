"""Why we differ from torch where we do: on purpose, by rounding, or because nothing can agree.

A difference that stands in no line here has no reason, and a test says so.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reason:
    """A short name, a sentence, and whether the difference is what we want."""

    name: str
    text: str
    on_purpose: bool = True


NUMBERS = Reason(
    "numbers",
    "a Python number may stand beside a tensor in every function of two "
    "([policy](policies.md#numbers-beside-tensors))",
)
PROMOTION = Reason("promotion", "sides of two dtypes meet in the one that holds both")
PLACES = Reason(
    "places",
    "a position in a tensor is data: outside, a read gives 0 and a write does nothing "
    "([policy](policies.md#positions-outside))",
)
LAST_WRITE = Reason(
    "last write",
    "of several writes to one place the last one stays, and only it gets a gradient "
    "([policy](policies.md#writes-to-one-place))",
)
BOOLS = Reason(
    "bools",
    "bools are no numbers: their negative is 'not', their product, also a square, 'and' "
    "([policy](policies.md#bools-and-means))",
)
MEANS = Reason(
    "means",
    "a mean of integers is a float ([policy](policies.md#bools-and-means)); torch refuses it, or "
    "cuts it to an integer",
)
DATA = Reason("data", "what is in a tensor is not read to check it: calls do not compute")
WEIGHTS = Reason("weights", "weights of integers are weights, and there may be any number of them")
AXES = Reason("axes", "any axes may stand before those that a function works on, and broadcast")
PADDING = Reason(
    "padding",
    "padding is smaller than the window ([policy](policies.md#padding-of-pools)); torch allows "
    "half of it",
)
STABLE = Reason(
    "stable", "equal elements stay in their order; torch gives any order where none is asked for"
)
NEIGHBOURS = Reason(
    "neighbours", "the way to the next float has no slope here; torch hands the gradient on"
)
STEPS = Reason(
    "steps", "made of several operations, each of which rounds to the dtype", on_purpose=False
)
SUMS = Reason("sums", "sums of many products, added in another order", on_purpose=False)
ASYMMETRIC = Reason(
    "asymmetric",
    "the matrix is said to be symmetric and is not; the gradients are those of different halves",
    on_purpose=False,
)
CHANNELS = Reason("channels", "a tensor of one axis has no channels")
WHOLE_ENDS = Reason(
    "whole ends", "torch cuts the ends to integers before it computes powers, and not after"
)
COMPOSED = Reason("composed", "there is no such function here: what it is made of has other limits")

WITH_NUMBERS = (
    "atan2",
    "clamp_max",
    "clamp_min",
    "fmax",
    "fmin",
    "gcd",
    "heaviside",
    "hypot",
    "isclose",
    "lcm",
    "ldexp",
    "logaddexp",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
)
POOLS = tuple(f"nn.functional.adaptive_{kind}_pool{n}d" for kind in ("avg", "max") for n in (2, 3))

REASONS: dict[str, Reason] = {
    **{f"{name} errors": NUMBERS for name in WITH_NUMBERS},
    **{f"{name} errors": PLACES for name in ("gather", "scatter", "scatter_add")},
    **{f"{name} errors": AXES for name in (*POOLS, "trace", "linalg.cross", "masked_fill")},
    **{f"nn.functional.conv{n}d errors": PROMOTION for n in (1, 2, 3)},
    **{f"nn.functional.max_unpool{n}d float32": LAST_WRITE for n in (1, 2, 3)},
    **{f"nn.functional.avg_pool{n}d int64": MEANS for n in (1, 2, 3)},
    **{f"{name} {kind}": STABLE for name in ("sort", "argsort") for kind in ("bool", "float16")},
    **{f"{name} bfloat16": STABLE for name in ("sort", "argsort")},
    "cov errors": DATA,
    "linalg.pinv hermitian float32": ASYMMETRIC,
    "logspace int64": WHOLE_ENDS,
    "logspace tensor_overload int64": WHOLE_ENDS,
    "masked_fill bool": PROMOTION,
    "mean errors": MEANS,
    "multinomial errors": WEIGHTS,
    "neg errors": BOOLS,
    "nextafter float32": NEIGHBOURS,
    "nn.functional.embedding errors": COMPOSED,
    "nn.functional.max_pool1d errors": PADDING,
    "nn.functional.max_pool3d errors": AXES,
    "nn.functional.rrelu errors": COMPOSED,
    "renorm errors": COMPOSED,
    "square bool": BOOLS,
    "sum_to_size errors": COMPOSED,
    **{
        f"{name} float32": SUMS
        for name in (
            "fft.fft2",
            "fft.hfft2",
            "grid_sampler_2d",
            "nn.functional.conv3d",
            "nn.functional.conv_transpose3d",
        )
    },
    **{f"nn.functional.batch_norm {kind}": CHANNELS for kind in ("float16", "bfloat16", "float32")},
}
"""Of an entry in a class."""

NARROW = ("float16", "bfloat16")


def all_reasons() -> list[Reason]:
    """Return the reasons, in alphabetical order."""
    return sorted({*REASONS.values(), STEPS, SUMS}, key=lambda reason: reason.name)


def reason_of(entry: str, kind: str, found: str) -> Reason | None:
    """Why an entry differs in a class, by what was found; None where nobody knows."""
    known = REASONS.get(f"{entry} {kind}")
    if known is not None:
        return known
    if "not close" not in found:
        return None
    return STEPS if kind in NARROW and "gradient" not in found else None
