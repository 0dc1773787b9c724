"""Sections of Events that were pasted without their object (rules: pasted-text)."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ingest.files.sources import read_sources
from ingest.files.texts.ages import PrintTime
from ingest.files.texts.event_rows import alone
from ingest.model.observation import Observed

AT = datetime(2026, 7, 31, 15, tzinfo=UTC)
HEAD = "  Type     Reason     Age   From   Message\n  ----     ------     ----  ----   -------\n"
STATUS = "  Normal   NodeHasDiskPressure  3m  kubelet  Node n1 status is now: NodeHasDiskPressure\n"
PLACED = "  Normal   Scheduled  9m  default-scheduler  Successfully assigned shop/web-0 to n1\n"
OVER = "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi."
KILLED = f"  Warning  Evicted    1m  kubelet  {OVER}\n"


def events(text: str) -> list[dict[str, Any]]:
    return list(alone(text.splitlines(), PrintTime(AT, "")))


def about(text: str) -> list[tuple[str, str, str]]:
    return [(each["involvedObject"]["kind"], each["involvedObject"]["name"], each["reason"]) for each in events(text)]


def test_a_section_is_about_the_object_that_its_rows_name() -> None:
    assert about(f"Events:\n{HEAD}{PLACED}{KILLED}") == [("Pod", "web-0", "Evicted"), ("Pod", "web-0", "Scheduled")]
    assert {each["source"]["host"] for each in events(HEAD + PLACED + KILLED)} == {"", "n1"}
    assert about(HEAD + STATUS) == [("Node", "n1", "NodeHasDiskPressure")]


@pytest.mark.parametrize(
    "rows",
    [STATUS + STATUS.replace("n1", "n2"), PLACED + PLACED.replace("web-0", "web-1"), STATUS + PLACED],
    ids=["two nodes", "two pods", "a node and a pod"],
)
def test_a_section_that_names_several_objects_is_left_out(rows: str) -> None:
    assert events(HEAD + rows) == []


@pytest.mark.parametrize("head", [HEAD, ""])
@pytest.mark.parametrize(
    ("row", "reported"),
    [
        (KILLED, ("Pod", "(unknown)", "Evicted")),
        ("  Warning  ImageGCFailed  1m  kubelet  wanted to free 1 bytes\n", ("Node", "(unknown)", "ImageGCFailed")),
        ("**Warning  SystemOOM  1m  kubelet, n2  System OOM encountered**\n", ("Node", "n2", "SystemOOM")),
    ],
)
def test_what_only_a_pod_or_a_node_has_is_read_without_its_name(
    head: str, row: str, reported: tuple[str, ...]
) -> None:
    assert about(head + row) == [reported]


def test_unnamed_pods_with_different_messages_are_different_pods() -> None:
    first, second = (events(HEAD + row)[0]["involvedObject"]["uid"] for row in (KILLED, KILLED.replace("1Gi", "2Gi")))
    assert first != second


def test_each_section_is_about_its_own_object() -> None:
    two = f"{HEAD}{STATUS}\n{HEAD}{STATUS.replace('n1', 'n2')}"
    assert [each[1] for each in about(two)] == ["n1", "n2"]


def test_an_unknown_age_is_at_any_time_before_the_text_was_printed() -> None:
    (event,) = events(HEAD + PLACED.replace("9m", "<unknown>"))
    assert (event["latest"], "earliest" in event) == ("2026-07-31T15:00:00Z", False)


def test_a_later_text_has_the_same_events_under_the_same_names(tmp_path: Path) -> None:
    """Both texts have the start of 14:00; the later one has another that says the same."""
    start = "  Normal   Starting  {}  kubelet, n1  Starting kubelet.\n"
    for number, ages in enumerate((["60m"], ["70m", "5m"])):
        starts = "".join(start.format(each) for each in ages)
        (tmp_path / f"{number}.txt").write_text(
            f"Events:\n{HEAD}{STATUS.replace('kubelet  ', 'kubelet, n1  ')}{starts}"
        )
    seen = [each.observation for each in read_sources([tmp_path]) if isinstance(each, Observed)]
    said = [msgspec.json.decode(bytes(each.object)) for each in seen if each.resource == "events"]
    names = {each["metadata"]["name"] for each in said if each["reason"] == "Starting"}
    assert len(names) == 2
    assert {f"{each}.1" for each in names} & names
