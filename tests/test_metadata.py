"""What the distributions declare agrees: entry points, versions, extras, licences."""

from __future__ import annotations

import tomllib
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
MEMBERS = sorted(path.parent for path in ROOT.glob("packages/*/pyproject.toml"))
STALE = "this environment is older than pyproject.toml: run `hatch env prune`, then try again"


def project_of(member: Path) -> dict[str, Any]:
    """Return the [project] table of a member."""
    project: dict[str, Any] = tomllib.loads((member / "pyproject.toml").read_text())["project"]
    return project


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.name)
def test_installed_entry_points_are_those_declared(member: Path) -> None:
    declared = {
        (group, name, value)
        for group, points in project_of(member).get("entry-points", {}).items()
        for name, value in points.items()
    }
    declared |= {
        ("console_scripts", name, value)
        for name, value in project_of(member).get("scripts", {}).items()
    }
    points = distribution(member.name).entry_points
    assert {(point.group, point.name, point.value) for point in points} == declared, STALE


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.name)
def test_members_share_one_version(member: Path) -> None:
    declared: dict[str, str] = {}
    exec((ROOT / "version.py").read_text(), declared)
    assert distribution(member.name).version == declared["__version__"], STALE


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.name)
def test_members_carry_the_licence(member: Path) -> None:
    assert (member / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_the_workspace_installs_what_the_demo_needs() -> None:
    environment = tomllib.loads((ROOT / "hatch.toml").read_text())["envs"]["default"]
    extras = project_of(ROOT / "packages" / "tiny-tensor")["optional-dependencies"]
    assert set(extras["demo"]) <= set(environment["dependencies"])


def test_mypy_sees_every_member() -> None:
    paths = (ROOT / "mypy.ini").read_text()
    assert [member.name for member in MEMBERS if f"/packages/{member.name}/src" not in paths] == []
