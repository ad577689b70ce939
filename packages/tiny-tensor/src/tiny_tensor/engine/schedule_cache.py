"""A canonical graph becomes a Plan: from memory, from disk, or through a code generator."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from hashlib import sha256
from pickle import UnpicklingError
from time import perf_counter

from tiny_ir import Op, UOp, key, toposort
from tiny_plugin import Launch, Program, Schedule, Target, replace
from tiny_tensor import settings
from tiny_tensor.engine.binaries import Binaries
from tiny_tensor.engine.disk_cache import DiskCache
from tiny_tensor.engine.plan import Plan, device_of_program
from tiny_tensor.engine.records import from_bytes, to_bytes
from tiny_tensor.engine.versions import version_text
from tiny_tensor.session import Device, Session

KIND = "schedules"
KEPT_PLANS = 2048
"""Plans that one Session keeps in memory; those not used for longest are forgotten."""


class ScheduleCache:
    """The Plans of a Session, by the one node that a canonical graph is.

    Args:
        session: opens devices and code generators, and counts.
    """

    def __init__(self, session: Session) -> None:
        folder = settings.cache_folder() if session.cache_folder is None else session.cache_folder
        self._disk = DiskCache(folder or None, settings.cache_nbytes())
        self._session = session
        self._plans: OrderedDict[UOp, Plan] = OrderedDict()
        self._versions: dict[tuple[str, ...], str] = {}
        self.binaries = Binaries(session, self._disk)

    def plan_of(self, graph: UOp) -> Plan:
        """The Plan of a canonical graph."""
        plan = self._plans.get(graph)
        if plan is None:
            plan = self._plans[graph] = self._made(graph)
            if len(self._plans) > KEPT_PLANS:
                self._plans.popitem(last=False)
        else:
            self._plans.move_to_end(graph)
        return plan

    def schedule_of(self, graph: UOp) -> Schedule:
        """What the code generator makes of a canonical graph, with the uops of its Programs."""
        session = self._session
        generator = session.registry.open_codegen(session.codegen_name)
        # Plugins' stages are part of a key by the versions of what offers them.
        stages = session.registry.broadcasts().stages()
        options = replace(session.options, stages=(*session.options.stages, *stages))
        start = perf_counter()
        schedule = generator.schedule(graph, self._targets(self._devices(graph)), options)
        session.tell("schedule", generator.name, "", start, perf_counter() - start)
        session.counters.schedules += 1
        return schedule

    def _made(self, graph: UOp) -> Plan:
        devices = self._devices(graph)
        versions = self._versions_of(devices)
        schedule_key = self._key_of(graph, devices, versions)
        plan = self._read(schedule_key, devices)
        if plan is not None:
            self._session.counters.cached_schedules += 1
            return plan
        schedule = self.schedule_of(graph)
        keys: dict[int, str] = {}
        executables: dict[int, object] = {}
        for program in programs_of(schedule):
            device = self._session.device(device_of_program(program, schedule))
            binary_key = self.binaries.key_of(program, device, versions)
            keys[id(program)] = binary_key
            executables[id(program)] = self.binaries.executable_of(program, device, binary_key)
        self._write(schedule_key, schedule, keys, devices)
        return Plan(schedule, executables)

    def _read(self, schedule_key: str, devices: dict[str, Device]) -> Plan | None:
        data = self._disk.read(KIND, schedule_key)
        if data is None:
            return None
        try:
            entry = from_bytes(data, self._targets(devices))
        except (UnpicklingError, AttributeError, LookupError, TypeError, ValueError, EOFError):
            return None  # written by other code than its key says: as good as damaged
        match entry:
            case (Schedule() as schedule, tuple(keys)):
                pass
            case _:
                return None
        executables: dict[int, object] = {}
        for program, binary_key in zip(programs_of(schedule), keys, strict=True):
            device = self._session.device(device_of_program(program, schedule))
            found = self.binaries.kept_executable(device, binary_key)
            if found is None:
                return None
            executables[id(program)] = found
        return Plan(schedule, executables)

    def _write(
        self,
        schedule_key: str,
        schedule: Schedule,
        keys: dict[int, str],
        devices: dict[str, Device],
    ) -> None:
        facts = {id(program): program.launch_facts() for program in programs_of(schedule)}
        steps = tuple(
            Launch(facts[id(step.program)], step.slots) if isinstance(step, Launch) else step
            for step in schedule.steps
        )
        entry = (
            replace(schedule, steps=steps),
            tuple(keys[id(program)] for program in programs_of(schedule)),
        )
        self._disk.write(KIND, schedule_key, to_bytes(entry, self._targets(devices)))

    def _key_of(self, graph: UOp, devices: dict[str, Device], versions: str) -> str:
        lines = [key(graph), repr(self._session.options), versions]
        lines += [f"{name} {device.target.key()}" for name, device in devices.items()]
        return sha256("\n".join(lines).encode()).hexdigest()

    def _versions_of(self, devices: dict[str, Device]) -> str:
        """The versions of all that has a part in what a graph becomes on these devices."""
        names = tuple(devices)
        found = self._versions.get(names)
        if found is None:
            registry = self._session.registry
            offers = [registry.offer_of("tiny.codegen", self._session.codegen_name)]
            offers += [registry.offer_of("tiny.hooks", n) for n in registry.names("tiny.hooks")]
            fingerprints = []
            for device in devices.values():
                kind = device.name.partition(":")[0]
                offers.append(registry.offer_of("tiny.runtime", kind))
                offers += device.toolchain.offers()
                fingerprints.append(device.toolchain.fingerprint())
            # One distribution may offer several of them.
            one_each = {offer.source: offer for offer in offers}.values()
            names_text = " ".join(f"{offer.group}:{offer.name}" for offer in offers)
            found = "\n".join((version_text(one_each), names_text, *fingerprints))
            self._versions[names] = found
        return found

    def _devices(self, graph: UOp) -> dict[str, Device]:
        """The devices that a graph names, the one of its first result first."""
        names: dict[str, None] = {}
        for node in toposort((graph,)):
            if node.op is Op.PARAM:
                names[node.arg.device] = None
            elif node.op is Op.COPY:
                names[node.arg] = None
            elif node.op is Op.CALL:
                names[node.arg.device] = None
        return {name: self._session.device(name) for name in names}

    @staticmethod
    def _targets(devices: dict[str, Device]) -> dict[str, Target]:
        return {name: device.target for name, device in devices.items()}


def programs_of(schedule: Schedule) -> Iterable[Program]:
    """The Programs of a Schedule, each record once."""
    found: dict[int, Program] = {}
    for step in schedule.steps:
        if isinstance(step, Launch):
            found[id(step.program)] = step.program
    return found.values()
