"""Facts hold for all of a dump: those of a Node, and settings. Starts of kubelets date their changes."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ingest.files.sources import read_sources
from ingest.model.observation import Observed

NODE = "n1"
READ_AT = datetime(2026, 7, 31, 15, tzinfo=UTC)


def node(read_at: str, version: str, resource_version: int = 1, **metadata: Any) -> dict[str, Any]:
    about = {"name": NODE, "uid": "u1", "resourceVersion": f"{resource_version}", "labels": {"pool": version}}
    ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": read_at, "lastTransitionTime": read_at}
    status = {"nodeInfo": {"kubeletVersion": version}, "capacity": {"cpu": "4"}, "conditions": [ready]}
    spec = {"taints": [{"key": "k", "effect": "NoSchedule"}]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": about | metadata, "spec": spec, "status": status}


def event(at: str, reason: str = "Rebooted", message: str = "m", about: str = NODE) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{about}.{at}", "namespace": "default", "uid": at},
        "involvedObject": {"kind": "Node", "name": about},
        "reason": reason,
        "message": message,
        "lastTimestamp": at,
    }


def start(at: str, about: str = NODE) -> dict[str, Any]:
    return event(at, "Starting", "Starting kubelet.", about)


def dump(path: Path, *items: dict[str, Any]) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return path


def implied(*paths: Path) -> list[tuple[str, dict[str, Any]]]:
    """The facts about nodes before these were read, with their times."""
    entries = [each for each in read_sources(paths) if isinstance(each, Observed) and each.is_implied]
    assert all(each.observation.type == "SNAPSHOT" for each in entries)
    return [(at(each.observation.ts), json.loads(bytes(each.observation.object))) for each in entries]


def versions(*paths: Path) -> list[tuple[str, str]]:
    return [(since, thing["status"]["nodeInfo"]["kubeletVersion"]) for since, thing in implied(*paths)]


def at(ts: datetime) -> str:
    return f"{ts:%Y-%m-%dT%H:%M:%SZ}"


def test_what_a_node_is_holds_since_the_earliest_thing_of_its_dump(tmp_path: Path) -> None:
    file = dump(tmp_path / "dump.json", node("2026-07-31T15:00:00Z", "v1.30.0"), event("2026-07-31T14:00:00Z"))
    [(since, thing)] = implied(file)
    assert since == "2026-07-31T14:00:00Z"
    assert thing == {
        "metadata": {"name": NODE, "uid": "u1", "labels": {"pool": "v1.30.0"}},
        "status": {"nodeInfo": {"kubeletVersion": "v1.30.0"}, "capacity": {"cpu": "4"}},
    }


def test_a_node_is_nothing_before_it_was_made(tmp_path: Path) -> None:
    made = node("2026-07-31T15:00:00Z", "v1.30.0", creationTimestamp="2026-07-31T14:30:00Z")
    assert versions(dump(tmp_path / "dump.json", made, event("2026-07-31T14:00:00Z", about="n2"))) == [
        ("2026-07-31T14:30:00Z", "v1.30.0")
    ]


def test_a_node_that_is_the_earliest_thing_itself_implies_nothing_more(tmp_path: Path) -> None:
    assert implied(dump(tmp_path / "dump.json", node("2026-07-31T15:00:00Z", "v1.30.0"))) == []


OF_TWO_DAYS: dict[str, tuple[list[dict[str, Any]], str]] = {
    "no start": ([], "2026-07-31T00:00:00Z"),
    "the last start": (
        [start("2026-07-31T08:00:00Z"), start("2026-07-31T09:00:00Z")],
        "2026-07-31T09:00:00Z",
    ),
    "starts outside": ([start("2026-07-30T11:00:00Z")], "2026-07-31T00:00:00Z"),
    "another's start": ([start("2026-07-31T09:00:00Z", "n2")], "2026-07-31T00:00:00Z"),
}


@pytest.mark.parametrize("case", OF_TWO_DAYS)
@pytest.mark.parametrize("turned", [False, True])
def test_what_changed_between_two_dumps_holds_since_the_kubelets_last_start_between_them(
    tmp_path: Path, case: str, turned: bool
) -> None:
    """The version changes with a start alone; where none was seen, the nearer reading holds."""
    starts, changed_at = OF_TWO_DAYS[case]
    first = node("2026-07-30T12:00:00Z", "v1.29.0"), event("2026-07-30T10:00:00Z")
    second = node("2026-07-31T12:00:00Z", "v1.30.0", 9), event("2026-07-31T11:50:00Z")
    files = [dump(tmp_path / "day1.json", *first), dump(tmp_path / "day2.json", *second, *starts)]
    assert versions(*(files[::-1] if turned else files)) == [
        ("2026-07-30T10:00:00Z", "v1.29.0"),
        (changed_at, "v1.30.0"),
    ]


def settings(*paths: Path) -> Iterator[tuple[str, int]]:
    for each in read_sources(paths):
        if isinstance(each, Observed) and each.observation.resource == "configz":
            config = json.loads(bytes(each.observation.object))["kubeletconfig"]
            yield at(each.observation.ts), config["maxPods"]


@pytest.mark.parametrize("starts", [[], [start("2026-07-31T09:00:00Z")]])
def test_settings_are_of_the_day_of_the_files_beside_them(tmp_path: Path, starts: list[dict[str, Any]]) -> None:
    """110 sorts behind 11, and is the older of them."""
    days = "2026-07-30", "2026-07-31"
    for day, pods, more in zip(days, (110, 11), ([], starts), strict=True):
        dump(tmp_path / day / "dump.json", node(f"{day}T12:00:00Z", "v1.30.0"), event(f"{day}T10:00:00Z"), *more)
        (tmp_path / day / "n1.configz.json").write_text(json.dumps({"kubeletconfig": {"maxPods": pods}}))
    changed_at = "2026-07-31T09:00:00Z" if starts else "2026-07-31T00:00:00Z"
    assert [*settings(tmp_path)] == [("2026-07-30T10:00:00Z", 110), (changed_at, 11)]


def test_a_node_that_was_made_after_it_was_read_has_no_time_of_that(tmp_path: Path) -> None:
    odd = node("2026-07-31T15:00:00Z", "v1.30.0", creationTimestamp="2999-01-01T00:00:00Z")
    entries = [*read_sources([dump(tmp_path / "dump.json", odd, event("2026-07-31T14:00:00Z"))], at=READ_AT)]
    [known] = [each for each in entries if isinstance(each, Observed) and each.is_implied]
    assert "creationTimestamp" not in json.loads(bytes(known.observation.object))["metadata"]


@pytest.mark.parametrize("field", [{"labels": 3}, {"creationTimestamp": "then"}, {"name": None}])
def test_a_node_that_cannot_be_read_implies_nothing(tmp_path: Path, field: dict[str, Any]) -> None:
    bad = node("2026-07-31T15:00:00Z", "v1.30.0", **field)
    assert implied(dump(tmp_path / "dump.json", bad, event("2026-07-31T14:00:00Z"))) == []


def test_times_without_a_zone_stop_nothing(tmp_path: Path) -> None:
    odd = node("2026-07-31T15:00:00Z", "v1.30.0", creationTimestamp="2026-07-31T14:30:00")
    file = dump(tmp_path / "dump.json", odd, start("2026-07-31T14:00:00"), event("2026-07-31T14:10:00Z"))
    assert versions(file) == [("2026-07-31T14:30:00Z", "v1.30.0")]
