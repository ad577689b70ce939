"""Tensors share memory with NumPy, are pickled and copied, show what they hold, and serve SciPy."""

from __future__ import annotations

import copy
import gc
import math
import os
import pickle
import subprocess
import sys
import weakref
from typing import Any

import numpy as np
import pytest

from tiny_ir import ArgumentError, ArgumentTypeError, ExchangeError, dtypes
from tiny_tensor import Session, Tensor, jit

pytestmark = pytest.mark.usefixtures("session")


def address(array: Any) -> int:
    """Where the elements of an array lie."""
    return int(array.ctypes.data)


def test_numpy_sees_our_memory_as_constant() -> None:
    x = Tensor([[1.0, 2.0], [3.0, 4.0]]).realize()
    seen, again = np.from_dlpack(x), np.asarray(x)
    assert address(seen) == address(again)
    assert seen.tolist() == x.tolist()
    assert not seen.flags.writeable
    assert not again.flags.writeable


@pytest.mark.parametrize("name", ["bool", "int8", "uint64", "float16", "float32", "float64"])
def test_every_dtype_of_numpy_goes_both_ways(name: str) -> None:
    x = Tensor([[0, 1], [1, 0]]).cast(name)
    back = Tensor.from_dlpack(np.from_dlpack(x))
    assert back.dtype is x.dtype
    assert back.tolist() == x.tolist()


def test_a_part_of_rows_is_shared_and_another_order_copied() -> None:
    x = Tensor.arange(12).reshape(4, 3).contiguous().realize()
    whole, rows = np.asarray(x), np.asarray(x[1:3])
    assert address(rows) == address(whole) + 3 * 4
    assert np.asarray(x.T).tolist() == x.T.tolist()


def test_what_others_see_does_not_change_under_a_write() -> None:
    x = Tensor([1, 2, 3]).realize()
    seen = np.asarray(x)
    x[0] = 9
    assert x.tolist() == [9, 2, 3]
    assert seen.tolist() == [1, 2, 3]


def test_shared_memory_outlives_the_tensor() -> None:
    x = (Tensor.arange(1000) + 1).realize()
    seen = np.from_dlpack(x)[10:]
    del x
    gc.collect()
    for _ in range(5):
        Tensor.zeros(1000, dtype="int32").contiguous().realize()
    assert seen[0] == 11


def test_memory_of_others_is_read_in_place_and_never_written() -> None:
    numbers = np.arange(6.0).reshape(2, 3)
    x = Tensor.from_dlpack(numbers)
    assert address(np.asarray(x)) == address(numbers)
    numbers[0, 0] = 7.0
    assert x.tolist()[0][0] == 7.0
    x[0, 0] = 5.0
    assert x.tolist()[0][0] == 5.0
    assert numbers[0, 0] == 7.0


def test_memory_of_others_lives_as_long_as_it_is_needed() -> None:
    class Watched(np.ndarray[Any, Any]):
        pass

    numbers = np.arange(4.0).view(Watched)
    reference = weakref.ref(numbers)
    x = Tensor.from_dlpack(numbers)
    y = Tensor.from_dlpack(numbers)
    del numbers
    assert (x + 1).tolist() == [1.0, 2.0, 3.0, 4.0]
    del x
    assert y.tolist() == [0.0, 1.0, 2.0, 3.0]
    del y
    Tensor([1.0]).realize()
    gc.collect()
    Tensor([2.0]).realize()
    assert reference() is None


def test_copies_are_made_where_they_are_wanted_or_needed() -> None:
    numbers = np.arange(6.0).reshape(2, 3)
    assert address(np.asarray(Tensor.from_dlpack(numbers, copy=True))) != address(numbers)
    with pytest.raises(ExchangeError, match="without a copy"):
        Tensor.from_dlpack(numbers.T, copy=False)
    assert Tensor.from_dlpack(numbers.T).tolist() == numbers.T.tolist()
    x = Tensor([1.0]).realize()
    copied = x.__array__(copy=True)
    copied[0] = 5.0
    assert x.tolist() == [1.0]
    with pytest.raises(ArgumentError, match="without a copy"):
        np.asarray(x, dtype=np.float64, copy=False)
    assert np.asarray(x, dtype=np.float64).dtype == np.float64


class Elsewhere:
    """An array on a device that the host does not see."""

    def __dlpack__(self, **options: object) -> object:
        raise BufferError("it lies on another device")

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0


def test_what_cannot_be_given_is_a_buffer_error() -> None:
    with pytest.raises(BufferError, match="bfloat16"):
        Tensor([1.0], dtype="bfloat16").__dlpack__()
    with pytest.raises(BufferError, match="device"):
        Tensor([1.0]).__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="without a copy"):
        Tensor([1.0]).__dlpack__(copy=False)
    with pytest.raises(BufferError, match="gives no elements"):
        Tensor.from_dlpack(Elsewhere())
    assert Tensor([1.0]).__dlpack_device__() == (1, 0)


def test_an_empty_tensor_is_exchanged() -> None:
    assert np.asarray(Tensor.zeros(0, 3)).shape == (0, 3)
    assert Tensor.from_dlpack(np.zeros((2, 0))).shape == (2, 0)


def test_captured_functions_copy_shared_memory_before_they_write_it() -> None:
    @jit
    def step(x: Tensor) -> Tensor:
        x[0] = x[0] + 1
        return x * 2

    x = Tensor([1.0, 2.0]).realize()
    for _ in range(2):
        step(x)
    seen = np.asarray(x)
    before = seen.tolist()
    step(x)
    assert seen.tolist() == before
    assert x.tolist()[0] == before[0] + 1


@pytest.mark.parametrize("name", ["bool", "int64", "float16", "bfloat16", "float8_e4m3"])
def test_pickles_keep_elements_and_dtype(name: str) -> None:
    x = Tensor([[0, 1], [2, 3]]).cast(name)
    back = pickle.loads(pickle.dumps(x))
    assert back.dtype is x.dtype
    assert back.tolist() == x.tolist()


def test_pickles_are_read_in_another_session() -> None:
    data = pickle.dumps(Tensor([1, 2]))
    with Session():
        assert pickle.loads(data).tolist() == [1, 2]


def test_a_deep_copy_has_memory_of_its_own() -> None:
    x = Tensor([1.0, 2.0])
    x.is_param = True
    y = copy.deepcopy({"weight": x})["weight"]
    y[0] = 9.0
    assert x.tolist() == [1.0, 2.0]
    assert y.is_param
    z = copy.copy(x)
    z[0] = 7.0
    assert x.tolist() == [7.0, 2.0]


def test_a_tensor_shows_its_elements() -> None:
    assert repr(Tensor([[1.0, 2.5]])) == "Tensor([[1. , 2.5]], dtype=float32)"
    assert repr(Tensor(3)) == "Tensor(3, dtype=int32)"
    assert repr(Tensor([1, 2], device="python")) == "Tensor([1, 2], dtype=int32, device='python')"
    x = np.arange(4000).reshape(20, 2, 100)
    text = np.array2string(x.astype("int32"), separator=", ", prefix="Tensor(")
    assert repr(Tensor(x, dtype="int32")) == f"Tensor({text}, dtype=int32)"
    assert repr(Tensor([1.0], device="null") + 1) == "<Tensor (1,) float32 on null>"


def test_a_text_computes_nothing_that_it_does_not_show() -> None:
    assert repr(Tensor.arange(2**40)).startswith("Tensor([            0,             1,")
    assert repr(Tensor.ones(10**6, 10**6)).count("...") == 7


def test_one_element_is_formatted_and_rounded_as_a_number() -> None:
    x = Tensor(2.675)
    assert (f"{x:.2f}", f"{x}", round(x), round(x, 1), math.trunc(x)) == (
        "2.67",
        "Tensor(2.675, dtype=float32)",
        3,
        2.7,
        2,
    )
    with pytest.raises(ArgumentTypeError, match="not one number"):
        f"{Tensor([1, 2]):.2f}"


def test_divmod_is_quotient_and_remainder() -> None:
    quotient, rest = divmod(Tensor([-7, 7]), 2)
    assert (quotient.tolist(), rest.tolist()) == ([-4, 3], [1, 1])
    quotient, rest = divmod(7, Tensor([2.0, -2.0]))
    assert (quotient.tolist(), rest.tolist()) == ([3.0, -4.0], [1.0, -1.0])


def test_other_devices_are_copied_to_the_host() -> None:
    x = Tensor([1, 2], device="python") + 1
    assert np.from_dlpack(x).tolist() == [2, 3]
    assert x.to_device("cpu").dtype is dtypes.int32


USERS = """
import numpy as np
from scipy import integrate, special, stats
from scipy.cluster import vq
from sklearn import config_context
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge
from sklearn.metrics import accuracy_score, mean_squared_error, r2_score
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler
from tiny_tensor import Tensor

numbers = np.random.RandomState(0).randn(20, 4)
x = Tensor(numbers)
calls = [
    lambda x: stats.zscore(x),
    lambda x: stats.gmean(abs(x)),
    lambda x: stats.skew(x),
    lambda x: stats.kurtosis(x),
    lambda x: stats.variation(x),
    lambda x: stats.entropy(abs(x)),
    lambda x: stats.ttest_ind(x, x + 1).pvalue,
    lambda x: stats.pearsonr(x[:, 0], x[:, 1]).statistic,
    lambda x: special.logsumexp(x, axis=0),
    lambda x: special.softmax(x, axis=0),
    lambda x: integrate.trapezoid(x, axis=0),
    lambda x: vq.whiten(x),
    lambda x: MinMaxScaler().fit_transform(x),
    lambda x: MaxAbsScaler().fit_transform(x),
    lambda x: StandardScaler().fit_transform(x),
    lambda x: Normalizer().fit_transform(x),
    lambda x: abs(PCA(2, svd_solver="full").fit_transform(x)),
    lambda x: special.rel_entr(abs(x), abs(x) + 1),
    lambda x: stats.directional_stats(x).mean_direction,
    lambda x: Ridge(solver="svd").fit(x, x[:, 0] * 2).coef_,
]
with config_context(array_api_dispatch=True):
    for number, call in enumerate(calls):
        found = call(x)
        assert isinstance(found, Tensor), (number, type(found))
        np.testing.assert_allclose(found.numpy(), call(numbers), rtol=1e-9, atol=1e-12)
    for score in (mean_squared_error, r2_score):
        assert abs(score(x[:, 0], x[:, 1]) - score(numbers[:, 0], numbers[:, 1])) < 1e-9
    assert abs(accuracy_score(Tensor([1, 2, 3]), Tensor([1, 2, 2])) - 2 / 3) < 1e-6
"""


def test_scipy_and_scikit_learn_work_on_tensors() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", USERS],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_memory_at_an_address_is_seen_and_not_written() -> None:
    numbers = np.arange(6, dtype=np.int16)
    x = Tensor.from_blob(numbers.ctypes.data, (2, 3), "int16")
    numbers[0] = 9
    assert x.tolist() == [[9, 1, 2], [3, 4, 5]]
    x[0] = 7
    assert (x.tolist(), numbers.tolist()) == ([[7, 7, 7], [3, 4, 5]], [9, 1, 2, 3, 4, 5])
    assert Tensor.from_blob(numbers.ctypes.data, (0, 3)).shape == (0, 3)


def test_memory_at_an_address_must_be_seen_by_the_device() -> None:
    numbers = np.arange(6, dtype=np.int16)
    with pytest.raises(ExchangeError, match="does not see"):
        Tensor.from_blob(numbers.ctypes.data, (2, 3), "int16", "python")
    with pytest.raises(ArgumentError, match="no memory at 0"):
        Tensor.from_blob(0, (1,))
