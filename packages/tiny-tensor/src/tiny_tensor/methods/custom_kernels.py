"""Kernels and bodies that a user wrote become part of a graph."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Self, TypeAlias

from tiny_ir import (
    ArgumentError,
    ArgumentTypeError,
    AxisKind,
    CallArg,
    DType,
    GradientError,
    KernelArg,
    Op,
    ParamArg,
    RangeArg,
    ResultArg,
    ShapeError,
    SourceArg,
    UOp,
    const,
    dtypes,
    make,
    product,
    substitute,
    toposort,
    verify,
)
from tiny_plugin import Source, boundary
from tiny_tensor.gradient.custom import gradient_of_input
from tiny_tensor.session import current_session
from tiny_tensor.tensor_core import TensorCore

KernelFunction: TypeAlias = Callable[..., UOp]
"""From the memory of each argument, a flat PARAM, to the kernel: an effect, or a SINK of some."""

GradientFunction: TypeAlias = Callable[..., "TensorCore | Sequence[TensorCore | None]"]
"""From the gradient that arrives, and tensors, to the gradients of the arguments, in order."""

NO_KERNEL_OP = (Op.VARIABLE, Op.SPECIAL, Op.BUFFER)
"""They belong to graphs and to Programs: a kernel of a user is loops over its arguments."""


@boundary
def kernel_axis(size: int, number: int, kind: AxisKind = AxisKind.LOOP) -> UOp:
    """A loop of a kernel that a user writes: counts from 0 up to, and without, `size`.

    Args:
        size: how many iterations.
        number: tells the loops of one kernel apart; lower numbers stand outside.
        kind: LOOP where iterations do not depend on each other; SERIAL where they run in order;
            REDUCE for those that a REDUCE combines.

    Example:
        >>> str(kernel_axis(4, 0).arg)
        'RangeArg(number=0, kind=AxisKind.LOOP)'
    """
    return make(Op.RANGE, None, (const(dtypes.weakint, size),), RangeArg(number, kind))


@boundary
class KernelMethods(TensorCore):
    """Calls of what a user wrote."""

    __slots__ = ()

    def custom_kernel(
        self,
        *others: Self,
        fxn: KernelFunction | Source,
        grad_fxn: GradientFunction | None = None,
    ) -> list[Self]:
        """Call a kernel that is written as a UOp, or as text, over this tensor and others.

        `fxn` is called once, now, with the memory of each tensor: a PARAM of shape (elements,), in
        row-major order. It returns the effect of the kernel, for example
        `END(STORE(INDEX(out, i), value), i)`. The kernel goes through the pipeline as any other; it
        is part of the graph by its content, so equal kernels are compiled once, in all processes.

        Or `fxn` is a Source: the text of a kernel in a language that has a compiler for the device,
        with the name of its function, and a Program that declares its arguments, in order, and its
        grid. The function is called as the device calls all kernels: docs/decisions/076-calls.md.

        Nothing is written into the tensors themselves: a written argument is copied first, and its
        new content is a result. Memory that nobody wrote yet (`Tensor.empty`, `Tensor.invalids`) is
        not copied.

        Args:
            others: more tensors, on the device of this one.
            fxn: makes the kernel, or is its text.
            grad_fxn: called, while something is differentiated, with the gradient of the result and
                all tensors as they are after the kernel; returns a gradient for each of them, in
                order, or None where there is none. A result that it is not the gradient of is None.

        Returns:
            The tensors after the kernel: new ones for what it writes, the others as they are.

        Raises:
            ArgumentTypeError: `fxn` returned something else than a UOp.
            VerificationError: the kernel is not valid.
            ArgumentError: it writes nothing, uses what a kernel cannot have, or declares other
                arguments than it is given.
            ShapeError: a size is symbolic.
            GradientError: `grad_fxn` is given, and not exactly one float argument is written.

        Example:
            >>> from tiny_ir import UOp
            >>> from tiny_tensor import Tensor, kernel_axis
            >>> def double(out: UOp, x: UOp) -> UOp:
            ...     i = kernel_axis(4, 0)
            ...     return out.index(i).store(x.index(i) * 2.0).end(i)
            >>> x = Tensor([1.0, 2.0, 3.0, 4.0])
            >>> out, _ = Tensor.empty(4).custom_kernel(x, fxn=double)
            >>> out.tolist()
            [2.0, 4.0, 6.0, 8.0]
        """
        tensors = [self, *(self._wrap(other) for other in others)]
        params = [_param_of(slot, tensor) for slot, tensor in enumerate(tensors)]
        if isinstance(fxn, Source):
            text, source, written = _declared(fxn, params)
        else:
            kernel = _checked_kernel(fxn(*params), params, _name_of(fxn))
            text, source, written = str(kernel), None, _written_slots(kernel)
        kept = [
            slot
            for slot, tensor in enumerate(tensors)
            if slot not in written or not _is_unwritten(tensor)
        ]
        results = tuple(
            ResultArg(slot, params[slot].dtype, _numbers(tensors[slot])) for slot in written
        )
        arg = CallArg(text, tuple(kept), results, self._device, source)
        sources = tuple(tensors[slot].uop.reshape(_numbers(tensors[slot])) for slot in kept)
        call = make(Op.CALL, None, sources, arg)
        after = {
            slot: make(Op.GET, params[slot].dtype, (call,), number)
            for number, slot in enumerate(written)
        }
        if grad_fxn is not None:
            (slot,) = _one_result(after)
            rule = _KernelRule(grad_fxn, slot, kept, [tensor._device for tensor in tensors], self)
            after[slot] = _marked(after[slot], sources, rule)
        return [
            self._apply(after[slot]) if slot in after else tensor
            for slot, tensor in enumerate(tensors)
        ]

    def as_param(self, slot: int) -> Self:
        """A placeholder with the shape, dtype and device of this tensor, for the body of `call`.

        Args:
            slot: which argument of the call takes its place.

        Raises:
            ArgumentError: the slot is negative.
            ShapeError: a size is symbolic.
        """
        if slot < 0:
            raise ArgumentError(
                f"there is no argument {slot}.",
                why="arguments are counted from 0.",
                fix="pass the position of the argument in call().",
            )
        sizes = _numbers(self)
        param = make(Op.PARAM, self.dtype, (), ParamArg(slot, _count(sizes), self._device))
        return self._apply(param.reshape(sizes))

    def call(self, *args: Self, fxn: Self, grad_fxn: GradientFunction | None = None) -> Self:
        """Call a body: a tensor that was computed from placeholders (see `as_param`).

        The body is used in place, as if it had been written here: it becomes one kernel with what
        stands around it, it is differentiated and mapped like everything else, and equal bodies are
        compiled once.

        Args:
            args: tensors for the placeholders 1, 2, ...; this tensor takes the place of 0.
            fxn: the body.
            grad_fxn: called, while something is differentiated, with the gradient of the result,
                the result, and all arguments; returns a gradient for each argument, or None.

        Returns:
            A tensor of the shape and dtype of the body.

        Raises:
            ArgumentError: the body has a placeholder for which there is no argument.
            ShapeError: an argument has another number of elements, another dtype or another device
                than its placeholder.
            GradientError: `grad_fxn` is given, and the body is not of floats.

        Example:
            >>> from tiny_tensor import Tensor
            >>> a, b = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
            >>> body = a.as_param(0) * 10.0 + b.as_param(1)
            >>> a.call(b, fxn=body).tolist(), b.call(a, fxn=body).tolist()
            ([13.0, 24.0], [31.0, 42.0])
        """
        tensors = [self, *(self._wrap(arg) for arg in args)]
        replaced = {
            node: _argument(node, tensors) for node in toposort((fxn.uop,)) if node.op is Op.PARAM
        }
        value = substitute(fxn.uop, replaced)
        if grad_fxn is None:
            return self._apply(value)
        if not value.dtype.is_float:
            raise GradientError(
                f"a body of {value.dtype.name} has no gradient.",
                why="its values have nothing in between.",
                fix="leave grad_fxn out.",
            )
        devices = [tensor._device for tensor in tensors]
        rule = _KernelRule(grad_fxn, None, list(range(len(tensors))), devices, self)
        return self._apply(_marked(value, tuple(tensor.uop for tensor in tensors), rule))


class _KernelRule:
    """The gradient function of a call as a rule for nodes.

    Args:
        gradient: what the user wrote.
        slot: the argument that is written, which is seen as it is afterwards; None where the result
            is no argument, and comes before them.
        inputs: the arguments that the CUSTOM has as inputs, by their slots.
        devices: of all arguments.
        like: a tensor of the kind to make.
    """

    def __init__(
        self,
        gradient: GradientFunction,
        slot: int | None,
        inputs: Sequence[int],
        devices: Sequence[str],
        like: TensorCore,
    ) -> None:
        self.gradient = gradient
        self.slot = slot
        self.inputs = tuple(inputs)
        self.devices = tuple(devices)
        self.kind = type(like)

    def key(self) -> Hashable:
        """What calls have in common that are differentiated alike."""
        return (self.gradient, self.slot, self.inputs, self.devices, self.kind)

    def gradients(self, node: UOp, g: UOp) -> list[UOp]:
        """The gradients of the inputs of a CUSTOM."""
        make_tensor = self.kind._from_uop
        place = self.devices[self.slot or 0]
        result = make_tensor(node, place)
        given = dict(zip(self.inputs, node.src[1:], strict=True))
        tensors = [
            result
            if slot == self.slot
            else make_tensor(given[slot], device)
            if slot in given
            else None
            for slot, device in enumerate(self.devices)
        ]
        first = [] if self.slot is not None else [result]
        found = self.gradient(make_tensor(g, place), *first, *tensors)
        parts = [found] if isinstance(found, TensorCore) else list(found)
        if len(parts) != len(self.devices):
            raise GradientError(
                f"a gradient function returned {len(parts)} gradients for {len(self.devices)} "
                "arguments.",
                why="each argument has one.",
                fix="return a gradient for each; None where there is none.",
            )
        return [gradient_of_input(parts[slot], x) for slot, x in given.items()]


def _marked(value: UOp, inputs: tuple[UOp, ...], rule: _KernelRule) -> UOp:
    """The value, which knows its gradient."""
    number = current_session().custom_gradients.number_of(rule.key(), rule.gradients)
    return make(Op.CUSTOM, None, (value, *inputs), number)


def _param_of(slot: int, tensor: TensorCore) -> UOp:
    arg = ParamArg(slot, max(1, _count(_numbers(tensor))), "")
    return make(Op.PARAM, tensor.dtype, (), arg)


def _count(sizes: tuple[int, ...]) -> int:
    count = product(sizes)
    assert isinstance(count, int)
    return count


def _numbers(tensor: TensorCore) -> tuple[int, ...]:
    sizes = tuple(size for size in tensor.shape if isinstance(size, int))
    if len(sizes) != len(tensor.shape):
        raise ShapeError(
            f"an argument of a call cannot have shape {tensor.shape}.",
            why="the memory of its arguments has a size that is known when the graph is built.",
            fix="pad it to its largest size: pad_to().",
        )
    return sizes


def _name_of(function: object) -> str:
    name = getattr(function, "__name__", "kernel")
    return name if name.isidentifier() else "kernel"


def _checked_kernel(found: object, params: Sequence[UOp], name: str) -> UOp:
    """The SINK of what a user function returned."""
    if not isinstance(found, UOp):
        raise ArgumentTypeError(
            f"{name} returned a {type(found).__name__}.",
            why="a kernel is a UOp: the effect of its stores.",
            fix="return for example out.index(i).store(value).end(i).",
        )
    sink = found if found.op is Op.SINK else make(Op.SINK, None, (found,))
    if sink.arg is None:
        sink = make(Op.SINK, None, sink.src, KernelArg(name))
    verify(sink, "kernel")
    for node in toposort((sink,)):
        if node.op in NO_KERNEL_OP or (node.op is Op.PARAM and node not in params):
            raise ArgumentError(
                f"{name} uses {node!r}.",
                why="a kernel is made of loops over the memory that it is given.",
                fix="use kernel_axis() for loops, and pass more tensors for more memory.",
            )
    return sink


def _declared(source: Source, params: Sequence[UOp]) -> tuple[str, SourceArg, list[int]]:
    """The text of a kernel, its launch, and the arguments that it says it writes."""
    facts = source.program
    given = [(param.dtype, param.arg.elements) for param in params]
    declared = [(argument.dtype, argument.elements) for argument in facts.arguments]
    if given != declared or facts.variables:
        raise ArgumentError(
            f"{source.entry} does not take what it is given.",
            why=f"it declares {_listed(declared)}, and is given {_listed(given)}; a kernel of your "
            "own takes no variables.",
            fix="declare an Argument for each tensor, with its dtype and its number of elements.",
        )
    written = [slot for slot, argument in enumerate(facts.arguments) if argument.written]
    if not written or not all(isinstance(n, int) for n in (*facts.grid, *facts.workgroup)):
        raise ArgumentError(
            f"{source.entry} cannot be launched as it is declared.",
            why="a kernel writes at least one argument, and its grid is made of numbers.",
            fix="say written=True of what it writes, and give the grid in ints.",
        )
    grid = tuple(int(n) for n in facts.grid if isinstance(n, int))
    workgroup = tuple(int(n) for n in facts.workgroup if isinstance(n, int))
    launch = SourceArg(
        source.language,
        source.entry,
        grid,
        workgroup,
        facts.shared_nbytes,
        facts.scratch_nbytes,
    )
    return source.text, launch, written


def _listed(arguments: Sequence[tuple[DType, int]]) -> str:
    return ", ".join(f"{elements} of {dtype.name}" for dtype, elements in arguments) or "nothing"


def _written_slots(kernel: UOp) -> list[int]:
    slots: dict[int, None] = {}
    for node in toposort((kernel,)):
        if node.op is Op.STORE:
            place = node.src[0]
            while place.op in (Op.INDEX, Op.AFTER):
                place = place.src[0]
            if place.op is Op.PARAM:
                slots[place.arg.slot] = None
    if not slots:
        raise ArgumentError(
            "a kernel writes to none of its arguments.",
            why="what it computes would be lost.",
            fix="store to one: out.index(i).store(value).end(i).",
        )
    return list(slots)


def _is_unwritten(tensor: TensorCore) -> bool:
    """Whether a tensor is memory that has had no content so far."""
    node = tensor.uop
    while node.op in (Op.RESHAPE, Op.SHRINK):
        node = node.src[0]
    session = current_session()
    return node in session.unwritten and session.allocation_of(node) is None


def _one_result(after: dict[int, UOp]) -> list[int]:
    floats = [slot for slot, node in after.items() if node.dtype.is_float]
    if len(floats) != 1:
        raise GradientError(
            f"a kernel that writes {len(floats)} arguments of floats has no gradient function.",
            why="it gets the gradient of one result.",
            fix="leave grad_fxn out, or write a kernel for each result.",
        )
    return floats


def _argument(param: UOp, tensors: Sequence[TensorCore]) -> UOp:
    """What takes the place of a placeholder."""
    slot, elements, device = param.arg
    if slot >= len(tensors):
        raise ArgumentError(
            f"there is no argument {slot}.",
            why=f"the call has {len(tensors)}, counted from 0, and its body a placeholder of that "
            "number.",
            fix="pass a tensor for each placeholder.",
        )
    tensor = tensors[slot]
    sizes = _numbers(tensor)
    if (_count(sizes), tensor.dtype, tensor.device) != (elements, param.dtype, device):
        raise ShapeError(
            f"argument {slot} has {_count(sizes)} elements of {tensor.dtype.name} on "
            f"{tensor.device!r}.",
            why=f"its placeholder has {elements} of {param.dtype.name} on {device!r}.",
            fix="make the placeholder from a tensor like the argument.",
        )
    node: UOp = tensor.uop.reshape((elements,))
    return node
