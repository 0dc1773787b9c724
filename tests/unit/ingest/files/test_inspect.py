"""`leadsman inspect` shows the contents of files, and makes hostile names safe."""

import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from common.text import plain
from ingest.files.inspection import Damage, Inspection, inspect, render
from ingest.files.lines import SourceError
from ingest.model.observation import Position
from paths import NODE_PRESSURE

TS = datetime(2026, 11, 21, 4, 0, tzinfo=UTC)


def line(seconds: float, resource: str = "stats/summary", **fields: Any) -> str:
    ts = (TS + timedelta(seconds=seconds)).isoformat(timespec="microseconds").replace("+00:00", "Z")
    envelope = {
        "ts": ts,
        "cluster": "lab",
        "source": "kubelet",
        "resource": resource,
        "type": "SNAPSHOT",
        "node": "n1",
        "object": {},
    }
    return json.dumps({**envelope, **fields})


def inspected(folder: Path, *lines: str) -> Inspection:
    path = folder / "capture.jsonl"
    path.write_text("".join(text + "\n" for text in lines))
    return inspect([path])


def shown(inspection: Inspection) -> str:
    console = Console(file=io.StringIO(), width=200, force_terminal=False)
    console.print(render(inspection))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_recording_is_summed_up_as_it_was_recorded() -> None:
    # counted in the capture with another JSON parser, line by line
    inspection = inspect([NODE_PRESSURE])
    assert inspection.observations == 975
    assert inspection.counts == {
        ("kubelet", "configz", "ERROR"): 1,
        ("kubelet", "configz", "SNAPSHOT"): 11,
        ("kubelet", "cpu_manager_state", "SNAPSHOT"): 70,
        ("kubelet", "metrics", "SNAPSHOT"): 70,
        ("kubelet", "stats/summary", "ERROR"): 2,
        ("kubelet", "stats/summary", "SNAPSHOT"): 70,
        ("list", "events", "ADDED"): 37,
        ("list", "nodes", "ADDED"): 1,
        ("list", "pods", "ADDED"): 3,
        ("watch", "events", "ADDED"): 222,
        ("watch", "events", "MODIFIED"): 60,
        ("watch", "nodes", "MODIFIED"): 15,
        ("watch", "pods", "ADDED"): 76,
        ("watch", "pods", "DELETED"): 76,
        ("watch", "pods", "MODIFIED"): 261,
    }
    assert inspection.first == datetime(2026, 11, 21, 4, 17, 7, 289239, tzinfo=UTC)
    assert inspection.last is not None
    assert inspection.last.replace(microsecond=0) == datetime(2026, 11, 21, 4, 29, 0, tzinfo=UTC)
    assert inspection.clusters == ("lab",)
    assert inspection.nodes == {("lab", "real-node-1"): "v1.36.3"}
    assert [(errors.resource, errors.times) for errors in inspection.errors] == [("stats/summary", 2), ("configz", 1)]
    assert inspection.unreadable == ()
    assert inspection.largest is not None
    # the line is 9,811 bytes with its line break
    assert inspection.largest.size_bytes == 9810


def test_gap_is_longer_than_three_times_the_median(tmp_path: Path) -> None:
    seconds = [0, 10, 20, 30, 60, 70, 101, 111]
    inspection = inspected(tmp_path, *(line(each) for each in seconds))
    # the median is 10 s; 30 s are not longer than three times that, 31 s are
    assert [(gap.start - TS, gap.end - TS, gap.usual_seconds) for gap in inspection.gaps] == [
        (timedelta(seconds=70), timedelta(seconds=101), 10.0)
    ]
    assert str(inspection.gaps[0]) == "no stats/summary for 31 s, usually every 10 s"


def test_gaps_are_each_nodes_own(tmp_path: Path) -> None:
    lines = [line(each, node="fast") for each in range(0, 200, 10)]
    lines += [line(each, node="slow") for each in (0, 100, 200, 300)]
    assert inspected(tmp_path, *lines).gaps == ()


def test_error_is_no_sample(tmp_path: Path) -> None:
    lines = [line(each, type="ERROR" if 20 < each < 80 else "SNAPSHOT") for each in range(0, 120, 10)]
    gaps = inspected(tmp_path, *lines).gaps
    assert [(gap.start - TS, gap.end - TS) for gap in gaps] == [(timedelta(seconds=20), timedelta(seconds=80))]


def test_errors_that_say_the_same_are_counted_together(tmp_path: Path) -> None:
    refused: dict[str, Any] = {"type": "ERROR", "object": {"error": "refused"}}
    inspection = inspected(tmp_path, line(1, **refused), line(2, **refused), line(3, type="ERROR", object=[1]))
    assert [(each.error, each.times, each.first, each.last) for each in inspection.errors] == [
        ("refused", 2, TS + timedelta(seconds=1), TS + timedelta(seconds=2)),
        ("", 1, TS + timedelta(seconds=3), TS + timedelta(seconds=3)),
    ]


def test_errors_are_bounded_in_number(tmp_path: Path) -> None:
    inspection = inspected(
        tmp_path, *(line(each, type="ERROR", object={"error": f"error {each}"}) for each in range(250))
    )
    assert len(inspection.errors) == 101
    assert sum(errors.times for errors in inspection.errors) == 250


def test_unreadable_lines_are_counted_by_type_with_the_first_place(tmp_path: Path) -> None:
    sound: dict[str, Any] = {"resource": "metrics", "object": {"text": "up 1\n"}}
    inspection = inspected(tmp_path, line(0, **sound), "x", "y", line(1, resource="secrets"), line(2, **sound))
    path = str(tmp_path / "capture.jsonl")
    assert [each[:3] for each in inspection.unreadable] == [
        ("not_json", 2, Position(path, "2")),
        ("unknown_resource", 1, Position(path, "4")),
    ]
    assert all(isinstance(each, Damage) and each.reason for each in inspection.unreadable)
    assert inspection.observations == 2


def test_an_object_that_a_replay_would_dead_letter_is_reported_beforehand(tmp_path: Path) -> None:
    inspection = inspected(tmp_path, line(0, object={"node": {"nodeName": 7}}))
    assert [each[:3] for each in inspection.unreadable] == [
        ("wrong_type", 1, Position(str(tmp_path / "capture.jsonl"), "1"))
    ]


def test_nodes_are_found_in_nodes_pods_and_kubelet_answers(tmp_path: Path) -> None:
    api = {"source": "list", "type": "ADDED", "node": ""}
    node = {"metadata": {"name": "a"}, "status": {"nodeInfo": {"kubeletVersion": "v1.30.0"}}}
    inspection = inspected(
        tmp_path,
        line(0, "nodes", **api, object=node),
        line(1, "pods", **api, object={"metadata": {"name": "p"}, "spec": {"nodeName": "b"}}),
        line(2, "pods", **api, object={"spec": 5}),
        line(3, node="c"),
        line(4, node="a"),
        line(5, "nodes", **{**api, "type": "MODIFIED"}, object={"metadata": {"name": "a"}}),
    )
    assert inspection.nodes == {("lab", "a"): "v1.30.0", ("lab", "b"): "", ("lab", "c"): ""}


def test_kinds_that_a_dump_holds_besides_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "all.json"
    items = [{"kind": "Secret", "apiVersion": "v1"}, {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}}]
    path.write_text(json.dumps({"kind": "List", "items": items}))
    inspection = inspect([path], cluster="prod", at=TS)
    assert inspection.skipped == {"Secret": 1}
    assert inspection.clusters == ("prod",)
    assert "Secret" in shown(inspection)


def test_what_cannot_be_read_is_named_beside_what_can(tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text("nothing\n")
    inspection = inspect([NODE_PRESSURE, bad])
    assert inspection.observations > 0
    assert inspection.refused.startswith(f"{bad}: it has no observations")
    with pytest.raises(SourceError, match="it has no observations"):
        inspect([bad])


def test_rendering_reports_everything_that_was_found(tmp_path: Path) -> None:
    lines = [line(each) for each in (0, 10, 20, 90)]
    text = shown(inspected(tmp_path, *lines, line(95, type="ERROR", object={"error": "refused"}), "x"))
    for part in (
        "5 observations, 1 node\n",
        "from 2026-11-21T04:00:00Z to 2026-11-21T04:01:35Z, 1 min 35 s",
        "no stats/summary for 70 s, usually every 10 s",
        "refused",
        "not_json",
        f"{tmp_path}/capture.jsonl:6",
        "n1",
    ):
        assert part in text


def test_rendering_shows_hostile_names_as_text(tmp_path: Path) -> None:
    name = "[red]evil[/red]\x1b[31m\n\u202egnp"
    text = shown(inspected(tmp_path, line(0, node=name, cluster=name)))
    assert "\x1b" not in text
    assert r"[red]evil[/red]\x1b[31m\n\u202egnp" in text


def test_rendering_of_thousands_of_nodes_is_short(tmp_path: Path) -> None:
    text = shown(inspected(tmp_path, *(line(each, node=f"n{each}") for each in range(2000))))
    assert "and 1,980 more" in text
    assert len(text.splitlines()) < 60


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("größe-✓ 日本", "größe-✓ 日本"),
        ("\x1b[2J", r"\x1b[2J"),
        ("a\r\nb\tc", r"a\r\nb\tc"),
        ("\x9b31m", r"\x9b31m"),
        ("a\u202eb\u200bc\ufeff", r"a\u202eb\u200bc\ufeff"),
        ("\ud800", r"\ud800"),
    ],
)
def test_plain_text_is_one_harmless_line(text: str, safe: str) -> None:
    assert plain(text) == safe


def test_plain_text_is_cut_where_it_is_long() -> None:
    assert plain("x" * 301) == "x" * 297 + "..."
    assert plain("x" * 300) == "x" * 300
    assert plain("abcdef", 5) == "ab..."


@given(st.text())
def test_plain_text_can_be_written_anywhere(text: str) -> None:
    safe = plain(text)
    assert all(character.isprintable() or character == " " or ord(character) > 0x9F for character in safe)
    assert len(safe.splitlines()) <= 1
    safe.encode()
