"""onnxruntime: each work is a small ONNX model."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import numpy as np

from models.resnet18 import resnet18_arrays, resnet18_forward
from peers.peer import Call
from works.work import Array, Arrays, Work

onnxruntime: Any = import_module("onnxruntime")
helper: Any = import_module("onnx.helper")
numpy_helper: Any = import_module("onnx.numpy_helper")
TensorProto: Any = import_module("onnx").TensorProto

OPSET = 17
FORMAT = 8
TYPES = {
    "float32": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16,
    "int32": TensorProto.INT32,
}


class Graph:
    """A model that is being written: nodes, and the arrays that they read."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: dict[str, Array] = {}

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """One more node; returns the name of its result."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def constant(self, value: Any, dtype: str = "float32") -> str:
        """An array, or numbers that become one."""
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(value, dtype)
        return name

    def session(self, inputs: Arrays, out: str) -> Any:
        """A session that runs the model on inputs of these dtypes and shapes."""
        named = [
            helper.make_tensor_value_info(name, TYPES[array.dtype.name], list(array.shape))
            for name, array in inputs.items()
        ]
        dtype = TYPES[next(iter(inputs.values())).dtype.name]
        results = [helper.make_tensor_value_info(out, dtype, None)]
        kept = [numpy_helper.from_array(array, name) for name, array in self.constants.items()]
        graph = helper.make_graph(self.nodes, "work", named, results, kept)
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=FORMAT)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = int(os.environ["BENCH_THREADS"])
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        providers = ["CPUExecutionProvider"]
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers)


class OnnxRuntime:
    """onnxruntime's CPU provider."""

    def prepare(self, work: Work, arrays: Arrays) -> Call | None:
        """Take the inputs in."""
        spell = FUNCTIONS.get(work.operation)
        if spell is None or work.dtype not in TYPES:
            return None
        inputs = {
            name: array.astype(work.dtype) if array.dtype == "float32" else array
            for name, array in arrays.items()
        }
        graph = Graph()
        kept = {"w", "gain", "bias"}  # what an inference engine knows before it starts
        names = []
        for name in arrays:
            if name in kept:
                names.append(graph.constant(inputs.pop(name)))
            elif name in work.transposed:
                order = [
                    *range(arrays[name].ndim - 2),
                    arrays[name].ndim - 1,
                    arrays[name].ndim - 2,
                ]
                names.append(graph.add("Transpose", name, perm=order))
            else:
                names.append(name)
        out = spell(graph, *names, **work.options)
        session = graph.session(inputs, out)
        return lambda: session.run([out], inputs)[0]

    def numbers(self, result: Any) -> Array:
        """A result as a NumPy array."""
        return np.asarray(result, "float32")


def _chain(graph: Graph, x: str) -> str:
    doubled = graph.add("Mul", x, graph.constant(2))
    return graph.add("Exp", graph.add("Relu", graph.add("Add", doubled, graph.constant(1))))


def _sum(graph: Graph, x: str, axis: int | None) -> str:
    if axis is None:
        return graph.add("ReduceSum", x, keepdims=0)
    return graph.add("ReduceSum", x, graph.constant([axis], "int64"), keepdims=0)


def _attention(graph: Graph, q: str, k: str, v: str) -> str:
    scores = graph.add("MatMul", q, graph.add("Transpose", k, perm=[0, 1, 3, 2]))
    scaled = graph.add("Mul", scores, graph.constant(0.125))
    shape = graph.add("Shape", q)
    length = graph.add("Gather", shape, graph.constant(2, "int64"))
    sizes = graph.add(
        "Concat",
        graph.add("Unsqueeze", length, graph.constant([0], "int64")),
        graph.add("Unsqueeze", length, graph.constant([0], "int64")),
        axis=0,
    )
    lowest = helper.make_tensor("value", TensorProto.FLOAT, [1], [-1e9])
    filled = graph.add("ConstantOfShape", sizes, value=lowest)
    mask = graph.add("Trilu", filled, graph.constant(1, "int64"), upper=1)
    return graph.add("MatMul", graph.add("Softmax", graph.add("Add", scaled, mask), axis=3), v)


def _products(graph: Graph, x: str, w: str, count: int) -> str:
    for _ in range(count):
        x = graph.add("Tanh", graph.add("MatMul", x, w))
    return x


def _resnet18(graph: Graph, x: str) -> str:
    weights = {name: graph.constant(array) for name, array in resnet18_arrays().items()}

    def conv(x: str, name: str, stride: int, padding: int) -> str:
        weight = weights[f"{name}.weight"]
        return graph.add("Conv", x, weight, strides=[stride] * 2, pads=[padding] * 4)

    def norm(x: str, name: str) -> str:
        parts = ("weight", "bias", "running_mean", "running_var")
        return graph.add("BatchNormalization", x, *(weights[f"{name}.{part}"] for part in parts))

    def relu(x: Any) -> str:
        return graph.add("Relu", x.name if isinstance(x, Value) else x)

    def pool(x: str) -> str:
        return graph.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)

    def head(x: str) -> str:
        flat = graph.add("Flatten", graph.add("GlobalAveragePool", x))
        return graph.add("Gemm", flat, weights["fc.weight"], weights["fc.bias"], transB=1)

    def added(x: str, name: str) -> Value:
        return Value(graph, norm(x, name))

    out: str = resnet18_forward(x, conv, added, relu, pool, head)
    return out


class Value(str):
    """The name of a result, which can be added to another."""

    graph: Graph

    def __new__(cls, graph: Graph, name: str) -> Value:
        made = super().__new__(cls, name)
        made.graph = graph
        return made

    @property
    def name(self) -> str:
        """As the model spells it."""
        return str(self)

    def __add__(self, other: str) -> Value:
        return Value(self.graph, self.graph.add("Add", str(self), str(other)))


FUNCTIONS: dict[str, Any] = {
    "matmul": lambda graph, a, b: graph.add("MatMul", a, b),
    "chain": _chain,
    "sum": _sum,
    "softmax": lambda graph, x: graph.add("Softmax", x, axis=1),
    "layer_norm": lambda graph, x, gain, bias: graph.add(
        "LayerNormalization", x, gain, bias, axis=1, epsilon=1e-5
    ),
    "cumsum": lambda graph, x: graph.add("CumSum", x, graph.constant(1, "int64")),
    "gather": lambda graph, table, rows: graph.add("Gather", table, rows),
    "convolution": lambda graph, x, w, groups: graph.add("Conv", x, w, pads=[1] * 4, group=groups),
    "attention": _attention,
    "products": _products,
    "resnet18": _resnet18,
}


def make() -> OnnxRuntime:
    """The peer."""
    return OnnxRuntime()
