"""The capture of a node under pressure: ends of pods, growth of disks and stalls, held against its own lines.

What must be found is read from the capture here, without any code of Leadsman's: the kubelet's Events, the pods'
conditions and statuses, the samples.
"""

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from statistics import linear_regression
from typing import Any, Final, NamedTuple

import pytest

from components.command import rows, succeeds
from paths import NODE_PRESSURE

Json = dict[str, Any]
LOW_ON: Final = "The node was low on resource: "
HAD_CONDITION: Final = "The node had condition: "
LOST: Final = "ContainerStatusUnknown"
FREED_LITTLE: Final = "FreeDiskSpaceFailed"
AT_ONCE: Final = timedelta(seconds=2)
DISK_THRESHOLD: Final = 68_088 * 1024**2
"""`nodefs.available` of the kubelet's settings in the capture; the Events name it too."""
TO_THE_MILLISECOND: Final = 1e-5
"""Relative: times of samples are rounded to it before the slope."""
DISK_PRESSURE_AT: Final = "2026-11-21T04:20:20"
"""Between the last sample and the first eviction for disk."""


@cache
def lines() -> tuple[Json, ...]:
    return tuple(json.loads(line) for line in gzip.decompress(NODE_PRESSURE.read_bytes()).splitlines())


def objects(resource: str) -> Iterator[tuple[Json, Json]]:
    """Each line of a resource and its object."""
    return ((line, line["object"]) for line in lines() if line["resource"] == resource and line["type"] != "ERROR")


class End(NamedTuple):
    cause: str
    witness: str
    deleted: int
    owner: str
    exit_code: int | None


def of_message(message: str) -> str:
    if message.startswith(LOW_ON):
        return "node_pressure"
    return "admission" if message.removeprefix("Pod was rejected: ").startswith(HAD_CONDITION) else ""


def of_pod(pod: Json) -> str:
    """The cause that the API server or kubelet wrote into the pod."""
    conditions = [each for each in pod["status"].get("conditions", ()) if each["type"] == "DisruptionTarget"]
    return next(
        filter(None, (of_message(each["message"]) for each in (*conditions, pod["status"]) if "message" in each)), ""
    )


@cache
def witnessed() -> dict[str, dict[str, tuple[str, datetime]]]:
    """Cause and first record by UID and kind of witness."""
    found: dict[str, dict[str, tuple[str, datetime]]] = {}
    for line in lines():
        each, ts = line["object"], parse_time(line["ts"])
        if line["resource"] == "events" and each["involvedObject"]["kind"] == "Pod" and each["reason"] == "Evicted":
            of_uid = found.setdefault(each["involvedObject"]["uid"], {})
            of_uid.setdefault("event", (of_message(each["message"]), ts))
        elif line["resource"] == "pods" and of_pod(each):
            found.setdefault(each["metadata"]["uid"], {}).setdefault("status", (of_pod(each), ts))
    return found


def parse_time(text: str) -> datetime:
    return datetime.fromisoformat(text)


@cache
def last_pods() -> dict[str, tuple[Json, bool]]:
    """Return each pod by UID as it was last recorded, and whether it was gone then."""
    return {pod["metadata"]["uid"]: (pod, line["type"] == "DELETED") for line, pod in objects("pods")}


def expected(*, events: bool = True, pods: bool = True) -> dict[str, End]:
    """The ends by UID, with the witnesses that are left."""
    found = {}
    for uid, (pod, is_gone) in last_pods().items():
        kinds = {"event": events, "status": pods}
        left = {kind: cause for kind, (cause, _) in witnessed().get(uid, {}).items() if kinds[kind]}
        was_deleted_on_a_node = pods and is_gone and "nodeName" in pod["spec"]
        if not left and not was_deleted_on_a_node:
            continue
        (cause,) = set(left.values()) or {"deleted"}
        witness = "both" if len(left) == 2 else next(iter(left), "status")
        owner = next((each["name"] for each in pod["metadata"].get("ownerReferences", ())), "")
        states = [each["state"].get("terminated") for each in pod["status"].get("containerStatuses", ())]
        codes = [each["exitCode"] for each in states if each and each["reason"] != LOST]
        known = (int(is_gone), owner, codes[0] if codes else None) if pods else (0, "", None)
        found[uid] = End(cause, witness, *known)
    return found


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The database of the whole capture, of one without a resource, or of its beginning."""

    @cache
    def replay(without: str = "", until: str = "") -> Path:
        folder = tmp_path_factory.mktemp("pressure")
        kept = (each for each in lines() if each["resource"] != without and (not until or each["ts"] < until))
        (folder / "capture.jsonl").write_text("".join(json.dumps(each) + "\n" for each in kept))
        succeeds("replay", "-q", folder / "capture.jsonl", db=folder / "db")
        return folder / "db"

    return replay


def ends(database: Path) -> dict[str, End]:
    found = rows(
        "SELECT uid, cause, witness, deleted, owner_name, exit_code FROM pod_ends WHERE container = ''", database
    )
    by_uid = {uid: End(*values) for uid, *values in found}
    assert len(by_uid) == len(found), "a pod ended twice"
    return by_uid


def test_the_recording_has_ends_of_every_kind_that_is_asked_for() -> None:
    """Else the tests below would compare nothing with nothing."""
    causes = [end.cause for end in expected().values()]
    assert {cause: causes.count(cause) for cause in causes} == {"node_pressure": 6, "admission": 69, "deleted": 1}
    by_first = [min(each, key=lambda kind: each[kind][1]) for each in witnessed().values()]
    assert {"event", "status"} == set(by_first), "either witness comes first"
    assert any(end.cause == "admission" and end.deleted for end in expected().values()), "rejected, deleted later"


def test_each_pod_that_was_ended_has_one_row_and_no_other_has(replayed: Callable[..., Path]) -> None:
    assert ends(replayed()) == expected()
    ended_by_nobody = last_pods().keys() - expected().keys()
    assert len(ended_by_nobody) == 3, "pods that never had a node"


def test_a_pod_ended_when_its_first_witness_is_dated(replayed: Callable[..., Path]) -> None:
    """Its Event, or the status that came before it: both are dated to the second, and recorded at once."""
    found = dict(rows("SELECT uid, ts FROM pod_ends", replayed()))
    for uid, kinds in witnessed().items():
        recorded_at = min(at for _, at in kinds.values())
        assert timedelta() <= recorded_at - found[uid] < AT_ONCE, uid


def test_without_events_the_pods_still_show_who_ended_them(replayed: Callable[..., Path]) -> None:
    assert ends(replayed(without="events")) == expected(events=False)


def test_without_pods_the_events_do_and_a_plain_deletion_is_not_known(replayed: Callable[..., Path]) -> None:
    found = ends(replayed(without="pods"))
    assert found == expected(pods=False)
    assert {end.cause for end in found.values()} == {"node_pressure", "admission"}


def test_image_gc_freed_nothing_as_often_as_the_kubelet_reported(replayed: Callable[..., Path]) -> None:
    reported = {
        each["metadata"]["uid"]: each["count"] for _, each in objects("events") if each["reason"] == FREED_LITTLE
    }
    found = rows("SELECT sum(occurrences) FROM image_gc FINAL WHERE verdict = 'insufficient_freed'", replayed())
    assert found == [(sum(reported.values()),)]


class Growth(NamedTuple):
    """Return the use outside of pods and images, over the samples of the capture or its beginning."""

    last: int
    available: int
    bytes_per_second: float
    at: datetime


def growth(until: str = "9") -> Growth:
    """The slope by least squares: one file system holds images, logs and volumes."""
    samples = [(parse_time(line["ts"]), each) for line, each in objects("stats/summary") if line["ts"] < until]
    others = [each["node"]["fs"]["usedBytes"] - of_images_and_pods(each) for _, each in samples]
    at, last = samples[-1]
    slope = linear_regression([(ts - at).total_seconds() for ts, _ in samples], others).slope
    return Growth(others[-1], last["node"]["fs"]["availableBytes"], slope, at)


def of_images_and_pods(summary: Json) -> int:
    """Writable layers lie on the file system of images."""
    logs = sum(container["logs"]["usedBytes"] for pod in summary["pods"] for container in pod["containers"])
    volumes = sum(each["usedBytes"] for pod in summary["pods"] for each in pod.get("volume", ()))
    images: int = summary["node"]["runtime"]["imageFs"]["usedBytes"]
    return images + int(logs + volumes)


GROWN: Final = (
    "SELECT used_bytes, bytes_per_second, seconds_to_threshold FROM disk_growth WHERE kind = 'everything_else'"
)


def test_evicted_pods_are_not_blamed_for_a_disk_filled_from_outside(replayed: Callable[..., Path]) -> None:
    """Four pods with 20 KiB each went; something outside of pods grew, and met the threshold when the kubelet did."""
    database, filled = replayed(until=DISK_PRESSURE_AT), growth(DISK_PRESSURE_AT)
    ((used, slope, seconds),) = rows(GROWN, database)
    assert (used, slope) == (filled.last, pytest.approx(filled.bytes_per_second, rel=TO_THE_MILLISECOND))
    assert seconds == pytest.approx((filled.available - DISK_THRESHOLD) / slope)
    first = min(parse_time(each["lastTimestamp"]) for _, each in objects("events") if is_eviction_for_disk(each))
    assert abs(filled.at + timedelta(seconds=seconds) - first) < timedelta(seconds=5)

    of_pods = rows("SELECT pod, bytes_per_second FROM disk_growth WHERE kind = 'pod'", database)
    assert {pod for pod, slope in of_pods if slope is not None} == {"best", "burst", "pinned"}
    assert [slope for _, slope in of_pods if slope is not None] == pytest.approx([0.0] * 3)


def is_eviction_for_disk(event: Json) -> bool:
    return event["reason"] == "Evicted" and str(event["message"]).startswith(f"{LOW_ON}ephemeral-storage")


def test_at_the_end_no_pod_is_left_and_the_disk_still_fills(replayed: Callable[..., Path]) -> None:
    ((used, slope, _),) = rows(GROWN, replayed())
    assert (used, slope) == (growth().last, pytest.approx(growth().bytes_per_second, rel=TO_THE_MILLISECOND))
    assert rows("SELECT count() FROM disk_growth WHERE kind NOT IN ('images', 'everything_else')", replayed()) == [
        (0,)
    ]


def test_nothing_stalls_where_no_counter_of_pressure_moves(replayed: Callable[..., Path]) -> None:
    """The node has cgroups of version 1: its kubelet reports zeros, while memory runs out too; they are not known."""
    counters = [of_kind["total"] for _, each in objects("stats/summary") for of_kind in pressure(each["node"])]
    assert counters
    assert set(counters) == {0}
    assert rows("SELECT count() FROM node_stalls", replayed()) == [(0,)]
    assert rows("SELECT count(memory_psi_some_total_nanoseconds) FROM node_samples", replayed()) == [(0,)]
    assert rows("SELECT count(memory_some_percent) FROM pod_stalls", replayed()) == [(0,)]
    assert rows("SELECT count() FROM alerts WHERE alertname LIKE '%Stall%'", replayed()) == [(0,)]


def pressure(node: Mapping[str, Any]) -> Iterator[Json]:
    return (node[of]["psi"][kind] for of in ("memory", "io") for kind in ("some", "full"))
