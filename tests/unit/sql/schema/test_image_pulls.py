"""Pulls of images and why a node pulls one again: by hand, and without the evidence (rules: image-pulls)."""

from datetime import timedelta
from typing import Any

import pytest

from components.rows import T0, dicts, row, store
from sql.database.open import Database
from streams.fold.findings import ImageGc, KubeletSetting, NodeEvent, NodeRow, PodBinding, Row

IMAGE = "r.example/job:1"


def pulled(seconds: int, pod: str, text: str = f'Successfully pulled image "{IMAGE}"', **values: Any) -> NodeEvent:
    known = {"node": "n", "name": pod, "namespace": "d", "reason": "Pulled", "component": "kubelet"}
    about = {"object_kind": "Pod", "object_name": pod, "object_uid": pod, "message": text}
    return row(NodeEvent, ts=T0 + timedelta(seconds=seconds), **(known | about | values))


def life(pod: str, *changes: tuple[float, str]) -> list[Row]:
    return [row(PodBinding, ts=T0 + timedelta(seconds=s), node="n", uid=pod, change=change) for s, change in changes]


def pulls(database: Database) -> list[dict[str, Any]]:
    return dicts(database, "SELECT image, seconds, image_bytes, cause FROM image_pulls ORDER BY ts, pod")


FREED = row(ImageGc, ts=T0, last_at=T0 + timedelta(hours=1), node="n", reason="insufficient_freed", freed_bytes=5)
PRESENT = pulled(
    60, "old", f'Container image "{IMAGE}" already present on machine and can be accessed by the pod', name="later"
)
NODE = row(NodeRow, node="n", created_at=T0 - timedelta(days=9))
ENDED = life("old", (0, "bound"), (120, "deleted"))
LOOP: dict[str, list[Row]] = {
    "pulls": [pulled(0, "old"), pulled(7200, "new")],
    "the life of the pod": ENDED,
    "the node": [NODE],
    "who needs no pull": [PRESENT],
    "what was freed": [FREED],
}


def test_image_gc_that_freed_space_while_nothing_used_the_image_is_the_cause(database: Database) -> None:
    store(database, *(each for rows in LOOP.values() for each in rows))
    assert [each["cause"] for each in pulls(database)] == ["", "image_gc"]


@pytest.mark.parametrize("lacking", [each for each in LOOP if each != "pulls"])
def test_without_any_of_the_evidence_the_cause_is_unknown(lacking: str, database: Database) -> None:
    store(database, *(each for name, rows in LOOP.items() if name != lacking for each in rows))
    assert [each["cause"] for each in pulls(database)] == ["", "unknown"]


@pytest.mark.parametrize(
    "other",
    [
        NODE._replace(ts=T0 + timedelta(hours=1), created_at=T0 + timedelta(hours=1)),
        pulled(60, "n", "Starting kubelet.", reason="Starting", object_kind="Node", name="start")._replace(
            ts=T0 + timedelta(hours=1)
        ),
    ],
)
def test_a_node_that_was_made_or_started_anew_may_have_lost_the_image_otherwise(
    other: Row, database: Database
) -> None:
    store(database, other, *(each for rows in LOOP.values() for each in rows))
    assert [each["cause"] for each in pulls(database)] == ["", "unknown"]


@pytest.mark.parametrize(("freed", "cause"), [([], "in_use"), ([FREED], "unknown")])
def test_what_a_running_pod_uses_was_there_unless_space_was_freed(
    freed: list[Row], cause: str, database: Database
) -> None:
    store(database, *LOOP["pulls"], NODE, *life("old", (0, "bound")), *freed)
    assert [each["cause"] for each in pulls(database)] == ["", cause]


@pytest.mark.parametrize(("ended", "cause"), [(7200.9, "unknown"), (7201.1, "in_use")])
def test_the_time_of_an_event_has_whole_seconds(ended: float, cause: str, database: Database) -> None:
    store(database, *LOOP["pulls"], NODE, *life("old", (0, "bound"), (ended, "finished")))
    assert [each["cause"] for each in pulls(database)] == ["", cause]


@pytest.mark.parametrize(("age", "cause"), [(0, "unknown"), (6720, "maximum_age"), (6721, "unknown")])
def test_an_image_unused_for_its_maximum_age_and_a_run_of_image_gc_was_deleted(
    age: int, cause: str, database: Database
) -> None:
    settings = row(KubeletSetting, node="n", image_maximum_gc_age_seconds=age, image_gc_high_percent=85)
    store(database, *LOOP["pulls"], NODE, *ENDED, settings)
    assert [each["cause"] for each in pulls(database)] == ["", cause]


def test_a_pull_that_waited_for_another_of_the_same_image_is_none_again(database: Database) -> None:
    store(
        database,
        pulled(0, "old"),
        pulled(1, "new", f'Successfully pulled image "{IMAGE}" in 1s (20s including waiting)'),
    )
    assert [each["cause"] for each in pulls(database)] == ["", ""]


@pytest.mark.parametrize(
    ("text", "seconds", "size"),
    [
        ("", None, None),
        (" in 1m2.5s", 62.5, None),
        (" in 350ms (1h0m3s including waiting)", 0.35, None),
        (" in 0s (0s including waiting). Image size: 80 bytes.", 0, 80),
        (" in 9999999999999h (99999999999999h including waiting)", 999999 * 3600, None),
    ],
)
@pytest.mark.parametrize("before", ["", "(combined from similar events): "])
def test_a_pull_is_read_in_the_words_of_each_version(
    before: str, text: str, seconds: float | None, size: int | None, database: Database
) -> None:
    store(database, pulled(0, "p", f'{before}Successfully pulled image "{IMAGE}"{text}'))
    assert pulls(database) == [{"image": IMAGE, "seconds": seconds, "image_bytes": size, "cause": ""}]


@pytest.mark.parametrize(
    "other",
    [
        pulled(0, "p", PRESENT.message),
        pulled(0, "p", f'Successfully pulled image "{IMAGE}" in 1s. Image size: {10**30} bytes.'),
        pulled(0, "p", f'Successfully pulled image "{IMAGE}" \N{SNOWMAN}'),
        pulled(0, "p", 'Successfully pulled image "'),
        pulled(0, "p", component="somebody"),
        pulled(0, "p", object_kind="Node"),
    ],
)
def test_what_is_not_the_kubelet_s_report_of_a_pull_is_none(other: NodeEvent, database: Database) -> None:
    store(database, other)
    assert pulls(database) == []
