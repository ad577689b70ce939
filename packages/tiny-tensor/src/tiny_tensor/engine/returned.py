"""What a captured function returned, made again at each replay over that replay's memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tiny_ir import UOp, substitute
from tiny_plugin import record
from tiny_tensor.engine.call_arguments import Place, tensors_in, with_leaves
from tiny_tensor.storage import Storage, chain_above, over
from tiny_tensor.tensor_core import TensorCore


@record(frozen=True, slots=True)
class Output:
    """A tensor among the results: a view of a box.

    Args:
        kind: its class.
        device: where it lives.
        box: the BUFFER that stands for an argument or for a box that was there before; or the
            number of a new box.
        chain: the movement nodes of the view, the outermost first.
    """

    kind: type[TensorCore]
    device: str
    box: UOp | int
    chain: tuple[UOp, ...]


class Returned:
    """Results in nested containers.

    Args:
        value: what the function returned.
        owners: for each box that is there outside of the call, the BUFFER that stands for it.
    """

    def __init__(self, value: object, owners: Mapping[Storage, UOp]) -> None:
        tensors = list({id(tensor): tensor for tensor in tensors_in(value)}.values())
        self._outputs: list[Output] = []
        self.boxes: list[UOp] = []
        """The node of each new box."""
        self.devices: list[str] = []
        """The device of each."""
        numbers: dict[Storage, int] = {}
        places: dict[int, Place] = {}
        for tensor in tensors:
            storage = tensor._storage
            box: UOp | int | None = owners.get(storage)
            is_alone = sum(1 for other in tensors if other._storage is storage) == 1
            # Nobody else has the box of a lone view: only what the view shows is computed.
            base = tensor.uop if box is None and is_alone else storage.newest()
            if box is None:
                box = numbers.setdefault(storage, len(self.boxes))
                if box == len(self.boxes):
                    self.boxes.append(base)
                    self.devices.append(tensor.device)
            places[id(tensor)] = Place(len(self._outputs))
            chain = tuple(chain_above(tensor.uop, base))
            self._outputs.append(Output(type(tensor), tensor.device, box, chain))
        self._value = with_leaves(value, lambda tensor: places[id(tensor)])

    def owners(self) -> set[UOp]:
        """The BUFFERs of the boxes, there before, that something returned is a view of."""
        return {output.box for output in self._outputs if isinstance(output.box, UOp)}

    def settle(self, results: Mapping[UOp, UOp]) -> None:
        """Put the memory that holds it in the place of what is computed."""
        self.boxes = [substitute(node, results) for node in self.boxes]

    def made(
        self,
        actual: Mapping[UOp, UOp],
        argument_of: Callable[[UOp], TensorCore | None],
        storage_of: Mapping[UOp, Storage],
    ) -> object:
        """The results of one replay.

        Args:
            actual: for each BUFFER of the recording, that of this replay.
            argument_of: the argument that a BUFFER stands for; None where it stands for none.
            storage_of: the box that a BUFFER stands for.
        """
        new = [Storage(substitute(node, actual)) for node in self.boxes]

        def made(output: Output) -> TensorCore:
            if isinstance(output.box, int):
                storage = new[output.box]
                node = storage.node
            else:
                argument = argument_of(output.box)
                if argument is not None and not output.chain:
                    return argument
                storage = storage_of[output.box] if argument is None else argument._storage
                node = storage.newest() if argument is None else argument.uop
            for move in reversed(output.chain):
                node = over(move, node)
            tensor = output.kind.__new__(output.kind)
            tensor._hold(storage, node, output.device)
            return tensor

        tensors = [made(output) for output in self._outputs]

        def placed(place: TensorCore | Place) -> TensorCore:
            assert isinstance(place, Place)
            return tensors[place.number]

        return with_leaves(self._value, placed)
