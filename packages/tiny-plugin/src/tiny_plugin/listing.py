"""The installed plugins yield the lines of `tiny plugins` and `tiny doctor`.

The first imports no plugin. The second opens each in a process of its own, with a time limit, since
a plugin may hang, exit or crash.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tiny_plugin import settings
from tiny_plugin.errors import BlockedPluginError, DuplicatePluginError, PluginError
from tiny_plugin.offers import DoctorLine, Offer, PluginLine
from tiny_plugin.probe import ANSWER

if TYPE_CHECKING:
    from tiny_plugin.registry import Registry

__all__ = ["doctor_lines", "plugin_lines"]

CHILD = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from tiny_plugin.probe import main; main(sys.argv[2:])"
)
"""What the process of one plugin runs: with the same `sys.path`, since it must see the same."""


def plugin_lines(registry: Registry) -> tuple[PluginLine, ...]:
    """Every offer with its state."""
    return tuple(_plugin_line(registry, offer) for offer in registry.offers())


def _plugin_line(registry: Registry, offer: Offer) -> PluginLine:
    """One offer with its state."""
    variable = settings.choice_variable(offer.name)
    if not offer.value:
        return PluginLine(offer, "unreadable", f"pip install --upgrade {offer.distribution}")
    if not registry.allows(offer):
        return PluginLine(offer, "blocked", "take it out of TINY_BLOCK to use it")
    try:
        chosen = registry.offer_of(offer.group, offer.name)
    except DuplicatePluginError:
        return PluginLine(offer, "duplicate", f"set {variable}={offer.distribution} to choose it")
    if chosen != offer:
        return PluginLine(offer, "passed over", f"{variable} chooses {chosen.distribution}")
    return PluginLine(offer, "offered")


def doctor_lines(registry: Registry, timeout: float) -> Iterator[DoctorLine]:
    """Open each plugin in a process of its own, runtimes first, and say how that went."""
    wanted_by: dict[tuple[str, str], str] = {}
    names = dict.fromkeys((offer.group, offer.name.lower()) for offer in registry.offers())
    for group, name in sorted(names, key=lambda key: (key[0] != "tiny.runtime", key)):
        offers = [o for o in registry.offers() if (o.group, o.name.lower()) == (group, name)]
        who = ", ".join(offer.who for offer in offers)
        try:
            offer = registry.offer_of(group, name)
        except BlockedPluginError as error:
            yield DoctorLine(group, name, who, True, f"left out: {error.why}")
        except PluginError as error:
            yield DoctorLine(group, name, who, False, error.what, error.fix)
        else:
            asker = wanted_by.get((group, name), "")
            answer = _answer_of(group, offer.name, asker, timeout)
            for kind in ("renderer", "compiler"):
                if answer.get(kind):
                    wanted_by.setdefault((f"tiny.{kind}", str(answer[kind]).lower()), offer.name)
            yield from _lines(group, offer, answer)


def _lines(group: str, offer: Offer, answer: dict[str, object]) -> Iterator[DoctorLine]:
    """The answer of a process as lines: one for the plugin, and those of its own probe hook."""
    seconds = answer.get("seconds", 0.0)
    yield DoctorLine(
        group,
        offer.name,
        offer.who,
        bool(answer["good"]),
        str(answer["text"]),
        str(answer.get("fix", "")),
        seconds if isinstance(seconds, float) else 0.0,
    )
    lines = answer.get("lines", [])
    for subject, good, text, fix in lines if isinstance(lines, list) else ():
        yield DoctorLine(group, f"{offer.name}: {subject}", offer.who, bool(good), text, fix)


def _answer_of(group: str, name: str, asker: str, timeout: float) -> dict[str, object]:
    """Run the process of one plugin."""
    command = [sys.executable, "-c", CHILD, json.dumps(sys.path), group, name, asker]
    leave_out = f"set TINY_BLOCK={name} to leave it out, or pip uninstall its distribution"
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        return {"good": False, "text": f"still opening after {timeout:g} s", "fix": leave_out}
    for line in reversed(done.stdout.splitlines()):
        if line.startswith(ANSWER):
            answer: dict[str, object] = json.loads(line.removeprefix(ANSWER))
            return answer
    said = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
    if done.returncode < 0:
        end = f"died of {signal.Signals(-done.returncode).name}"
    else:
        end = f"ended with exit status {done.returncode}"
    return {"good": False, "text": f"{end}: {said}", "fix": leave_out}
