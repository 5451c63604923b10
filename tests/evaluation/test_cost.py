"""What a run cost, as its journal tells it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluation.cost import span
from journal.journal import JournalError


def test_a_run_lasts_from_its_first_event_to_its_last(tmp_path: Path) -> None:
    times = ["2026-01-02T10:00:00+00:00", "2026-01-02T10:00:30+00:00"]
    (tmp_path / "journal.jsonl").write_text("".join(json.dumps({"time": time}) + "\n" for time in times))
    began, ended = span(tmp_path)
    assert (ended - began).total_seconds() == 30


@pytest.mark.parametrize("last", ['{"type": "RunEnded"}', '{"time": "soon"}', '{"time": null}', "[]"])
def test_an_event_without_its_time_is_named(tmp_path: Path, last: str) -> None:
    first = json.dumps({"time": "2026-01-02T10:00:00+00:00"})
    (tmp_path / "journal.jsonl").write_text(f"{first}\n{last}\n")
    with pytest.raises(JournalError, match=r"journal\.jsonl:2: does not say when"):
        span(tmp_path)
