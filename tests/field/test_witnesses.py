"""One end is one row with the best that all its witnesses know, however far apart they are."""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from field.folding import Stored
from ingest.files.sources import read_sources
from ingest.normalize.decode import Decoded, decode
from streams.analytics.registry import REDUCERS
from streams.fold.passes import Passes
from streams.local import replay

TEXT = "The node was low on resource: memory. "
TABLE = (
    "NAMESPACE   NAME    READY   STATUS    RESTARTS   AGE   IP       NODE\n"
    "shop        web-1   0/1     Evicted   0          90m   <none>   w-1\n"
)
LINE = (
    "I0301 09:10:00.000000    1234 eviction_manager.go:627]"
    ' "Eviction manager: pod is evicted successfully" pod="shop/web-1"\n'
)
AT = datetime(2026, 3, 1, 9, 10, tzinfo=UTC)
HALF_A_DAY = timedelta(hours=12)


def pod(name: str, started: str, **status: Any) -> dict[str, Any]:
    about = {"name": name, "namespace": "shop", "uid": name, "creationTimestamp": started}
    status = {"phase": "Failed", "reason": "Evicted", "message": TEXT} | {"startTime": started} | status
    return {"kind": "Pod", "apiVersion": "v1", "metadata": about, "spec": {"nodeName": "w-1"}, "status": status}


def event(**times: Any) -> dict[str, Any]:
    return {
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": {"name": "web-1.1", "namespace": "shop", "uid": "e"},
        "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "web-1", "uid": "web-1"},
        "reason": "Evicted",
        "message": TEXT,
        "source": {"component": "kubelet", "host": "w-1"},
        **times,
    }


def ends(*paths: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The only row of `evictions`, and that of `pod_ends`."""
    stored = Stored()
    stored.replay(*paths)
    (eviction,), (end,) = stored.of("evictions", {"pod": "web-1"}), stored.of("pod_ends", {"pod": "web-1"})
    return eviction, end


def written(path: Path, text: str, at: datetime) -> Path:
    path.write_text(text)
    os.utime(path, (at.timestamp(), at.timestamp()))
    return path


@pytest.mark.parametrize("later", [timedelta(minutes=20), timedelta(days=270)])
@pytest.mark.parametrize("is_table_first", [True, False])
def test_a_log_without_a_year_dates_what_a_table_shows(
    tmp_path: Path, later: timedelta, is_table_first: bool
) -> None:
    """Files that were copied are as new as the copy. The log has no zone, and no Node says where its kubelet is."""
    table = written(tmp_path / "pods.txt", TABLE, AT + later)
    log = written(tmp_path / "w-1.kubelet.log", LINE, AT + later)
    for row in ends(*((table, log) if is_table_first else (log, table))):
        assert (row["ts"], row["time_known"]) == (AT, False)
        assert row["latest"] == min(AT + HALF_A_DAY, AT + later)


def test_a_journal_with_its_zone_dates_what_a_table_shows(tmp_path: Path) -> None:
    (tmp_path / "pods.txt").write_text(TABLE)
    (tmp_path / "journal.txt").write_text(f"2026-03-01T10:10:00+0100 w-1 kubelet[1234]: {LINE}")
    for row in ends(tmp_path):
        assert (row["ts"], row["time_known"], row["latest"]) == (AT, True, None)


@pytest.mark.parametrize(
    ("seconds", "with_event", "first"), [((30, 45), True, 0), ((30, 45), False, 30), ((-20, 45), True, -20)]
)
def test_the_first_of_the_known_times_of_its_witnesses_dates_an_eviction(
    tmp_path: Path, seconds: tuple[int, ...], with_event: bool, first: int
) -> None:
    """A kubelet writes the Event when it begins to evict, and its line when the pod has ended."""
    times = (AT + timedelta(seconds=each) for each in seconds)
    (tmp_path / "journal.txt").write_text("".join(f"{at.isoformat()} w-1 kubelet[1234]: {LINE}" for at in times))
    items = [pod("web-1", "2026-03-01T08:00:00Z"), *([event(lastTimestamp="2026-03-01T09:10:00Z")] * with_event)]
    (tmp_path / "all.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    for row in ends(tmp_path):
        assert (row["ts"], row["time_known"]) == (AT + timedelta(seconds=first), True)


@pytest.mark.parametrize("read_at", ["2026-03-01T09:20:00Z", "2026-03-04T12:00:00Z"])
def test_an_event_and_a_status_that_is_read_days_later_are_one_eviction_of_two_witnesses(
    tmp_path: Path, read_at: str
) -> None:
    """No Node is in the dump: nothing in it is forgotten for that."""
    newer = pod("web-2", read_at, phase="Running", reason="", message="")
    items = [pod("web-1", "2026-03-01T08:00:00Z"), newer, event(lastTimestamp="2026-03-01T09:10:00Z")]
    (tmp_path / "all.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    eviction, end = ends(tmp_path)
    assert (eviction["ts"], eviction["time_known"], eviction["evidence"]) == (AT, True, "both")
    assert (end["ts"], end["time_known"], end["witness"]) == (AT, True, "both")


@pytest.mark.parametrize(
    "times", [{}, {"lastTimestamp": None, "eventTime": None}, {"lastTimestamp": "9999-01-01T00:00:00Z"}]
)
def test_an_event_without_a_time_leaves_bounds(tmp_path: Path, times: dict[str, Any]) -> None:
    newer = pod("web-2", "2026-03-01T09:10:00Z", phase="Running", reason="", message="")
    items = [pod("web-1", "2026-03-01T08:00:00Z"), newer, event(**times)]
    (tmp_path / "all.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    for row in ends(tmp_path):
        assert not row["time_known"]
        assert (row["earliest"], row["latest"]) == (datetime(2026, 3, 1, 8, tzinfo=UTC), AT)


def test_a_pass_that_was_killed_behind_a_checkpoint_leaves_no_row_that_the_whole_does_not_imply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "CHECKPOINT_EVERY", 2)
    items = [pod(f"web-{number}", "2026-03-01T08:00:00Z") for number in range(5)]
    (tmp_path / "part.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    items.append(event(lastTimestamp="2026-03-01T09:10:00Z"))
    (tmp_path / "whole.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    once, again = Stored(), Stored()
    once.replay(tmp_path / "whole.json")
    with suppress(KeyboardInterrupt):
        replay.Replay(REDUCERS, again, again, Passes(again, again)).run(killed_after(4, tmp_path / "part.json"))
    assert again.rows["pod_bindings"]
    again.replay(tmp_path / "whole.json")
    assert again.comparable() == once.comparable()


def test_what_facts_imply_makes_no_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large cluster's dump begins with what each Node was before: all would be stored again for each of them."""
    saved: list[Any] = []
    monkeypatch.setattr(Stored, "save", lambda _, entries: saved.append(entries))
    about = {"creationTimestamp": "2026-03-01T08:00:00Z"}
    named = [about | {"name": f"w-{number}", "uid": str(number)} for number in range(9)]
    nodes = [{"kind": "Node", "apiVersion": "v1", "metadata": each, "status": {}} for each in named]
    items = [*nodes, pod("web-2", "2026-03-01T09:20:00Z"), event(lastTimestamp="2026-03-01T09:10:00Z")]
    (tmp_path / "all.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    Stored().replay(tmp_path)
    assert len(saved) == 1


def killed_after(number: int, path: Path) -> Iterator[Decoded]:
    yield from islice(map(decode, read_sources([path])), number)
    raise KeyboardInterrupt
