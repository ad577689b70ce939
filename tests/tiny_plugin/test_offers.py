"""The scan of installed distributions is remembered, and forgotten as soon as it may be wrong."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tiny_plugin import Registry
from tiny_plugin.offers import KEPT_SCANS, Offer, read_scan, scan_key, write_scan
from tiny_plugin.scan import offers_in

Install = Callable[..., Path]
SOME = Offer("tiny.runtime", "npu", "acme.plugin", "acme", "1.0")


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """Where scans are kept."""
    return str(tmp_path / "scans")


def a_file(folder: str) -> Path:
    """The only remembered scan."""
    (file,) = Path(folder).iterdir()
    return file


def kept(tmp_path: Path) -> Offer:
    """An offer whose source exists."""
    source = tmp_path / "entry_points.txt"
    source.write_text("x")
    status = source.stat()
    stamp = f"{status.st_mtime_ns}:{status.st_size}"
    return Offer("tiny.runtime", "npu", "acme.plugin", "acme", "1.0", str(source), stamp)


def test_what_was_written_is_read(folder: str, tmp_path: Path) -> None:
    offers = (kept(tmp_path),)
    write_scan(folder, "key", offers)
    assert read_scan(folder, "key") == offers
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700


def test_an_empty_scan_is_remembered_too(folder: str) -> None:
    write_scan(folder, "key", ())
    assert read_scan(folder, "key") == ()


def test_another_key_is_not_found(folder: str) -> None:
    write_scan(folder, "key", (SOME,))
    assert read_scan(folder, "other") is None
    a_file(folder).rename(Path(folder) / "scan-7a2a6ca2")
    assert read_scan(folder, "other") is None


def test_a_changed_entry_point_file_is_not_believed(folder: str, tmp_path: Path) -> None:
    offer = kept(tmp_path)
    write_scan(folder, "key", (offer,))
    Path(offer.source).write_text("changed")
    assert read_scan(folder, "key") is None
    Path(offer.source).unlink()
    assert read_scan(folder, "key") is None


@pytest.mark.parametrize(
    "damage",
    [lambda b: b[:-3], lambda b: b"", lambda b: b"\xff" + b, lambda b: b.replace(b"\x1f", b"", 1)],
)
def test_a_damaged_file_is_a_miss(
    folder: str, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    write_scan(folder, "key", (kept(tmp_path),))
    file = a_file(folder)
    file.write_bytes(damage(file.read_bytes()))
    assert read_scan(folder, "key") is None


def test_fields_that_would_break_the_file_are_not_written(folder: str) -> None:
    write_scan(folder, "key", (Offer("tiny.runtime", "n\x1fpu", "m", "acme", "1.0"),))
    write_scan(folder, "key\x1e", (SOME,))
    assert not Path(folder).exists()


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="permissions of this kind are POSIX")
def test_a_folder_others_may_write_to_is_ignored_with_a_warning(
    folder: str, tmp_path: Path
) -> None:
    write_scan(folder, "key", (kept(tmp_path),))
    os.chmod(folder, 0o777)
    with pytest.warns(UserWarning, match="others may write there"):
        assert read_scan(folder, "key") is None


def test_a_folder_that_cannot_be_made_costs_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    write_scan(str(tmp_path / "file" / "scans"), "key", (SOME,))
    assert read_scan(str(tmp_path / "file" / "scans"), "key") is None
    write_scan(None, "key", (SOME,))
    assert read_scan(None, "key") is None


def test_the_folder_stays_small(folder: str) -> None:
    for number in range(KEPT_SCANS + 10):
        write_scan(folder, f"key {number}", (SOME,))
    assert len(list(Path(folder).iterdir())) == KEPT_SCANS


def test_the_key_changes_with_every_folder_of_the_path(tmp_path: Path) -> None:
    before = scan_key([str(tmp_path)])
    assert scan_key([str(tmp_path)]) == before
    (tmp_path / "new-1.0.dist-info").mkdir()
    assert scan_key([str(tmp_path)]) != before
    assert scan_key([str(tmp_path), str(tmp_path / "missing")]) != scan_key([str(tmp_path)])


def test_the_key_stays_when_the_user_writes_files(tmp_path: Path) -> None:
    before = scan_key([str(tmp_path)])
    (tmp_path / "results.txt").write_text("x")
    assert scan_key([str(tmp_path)]) == before


def test_the_key_changes_when_the_same_version_is_installed_again(tmp_path: Path) -> None:
    info = tmp_path / "new-1.0.dist-info"
    info.mkdir()
    before = scan_key([str(tmp_path)])
    os.utime(info, (1, 1))
    assert scan_key([str(tmp_path)]) != before


def test_an_entry_point_file_is_read_line_by_line() -> None:
    text = """
    # a comment
    [console_scripts]
    tiny = x:y
    [tiny.runtime]
    npu = acme.plugin
    two=acme.plugin [extra]
    broken
    [ tiny.loader ]
    toy = acme.toy
    """
    assert list(offers_in(text)) == [
        ("tiny.runtime", "npu", "acme.plugin"),
        ("tiny.runtime", "two", "acme.plugin"),
        ("tiny.runtime", "broken", ""),
        ("tiny.loader", "toy", "acme.toy"),
    ]


def test_a_distribution_without_a_name_does_not_hurt_others(
    install: Install, registry: Registry
) -> None:
    package = install("acme-npu", "")
    metadata = next(package.parent.glob("acme_npu-*.dist-info")) / "METADATA"
    metadata.unlink()
    install("brand-npu", "", name="other")
    assert "other" in registry.names("tiny.runtime")


def test_a_second_process_does_not_scan(
    install: Install, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TYPED", "0")  # typeguard imports importlib.metadata
    install("acme-npu", "raise OSError('no driver')")
    program = """
    import json, sys
    sys.path[:] = json.loads(sys.argv[1])
    from tiny_plugin import PluginError, Registry
    try:
        Registry().open_runtime("npu")
    except PluginError as error:
        print("no driver" in str(error), "importlib.metadata" in sys.modules)
    """
    command = [sys.executable, "-c", textwrap.dedent(program), json.dumps(sys.path)]
    said = [
        subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        for _ in range(2)
    ]
    assert said == ["True True", "True False"]
    assert len(list((own_cache / "plugins").iterdir())) == 1


def test_what_is_installed_later_is_found_by_the_next_registry(install: Install) -> None:
    install("acme-npu", "")
    assert "toy" not in Registry().names("tiny.runtime")
    install("acme-toy", "", name="toy")
    assert "toy" in Registry().names("tiny.runtime")
