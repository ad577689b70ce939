"""What is listed as different from torch has a reason, and no reason is left over."""

from __future__ import annotations

from oracle.reasons import REASONS, reason_of
from oracle.verdicts import NO_COUNTERPART, known_differences, unmapped


def test_every_difference_has_a_reason() -> None:
    for name, samples in known_differences().items():
        entry, kind = name.rsplit(" ", 1)
        for index, found in samples.items():
            assert reason_of(entry, kind, found) is not None, f"{name}, sample {index}: {found}"


def test_no_reason_is_left_over() -> None:
    assert set(REASONS) <= set(known_differences())


def test_every_name_without_a_counterpart_has_a_reason() -> None:
    assert [name for name, why in unmapped().items() if why == NO_COUNTERPART] == []
