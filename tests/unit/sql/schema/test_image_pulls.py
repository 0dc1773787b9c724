"""Pulls of images and why a node pulls one again: by hand, and without the evidence (rules: image-pulls)."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeAlias

import pytest

from components.cases import Cases
from components.database import EmptyDatabase
from components.rows import T0, row
from streams.fold.findings import ImageGc, KubeletSetting, NodeEvent, NodeRow, PodBinding, Row

IMAGE = "r.example/job:1"


def pulled(seconds: int, pod: str, text: str = f'Successfully pulled image "{IMAGE}"', **values: Any) -> NodeEvent:
    known = {"node": "n", "name": pod, "namespace": "d", "reason": "Pulled", "component": "kubelet"}
    about = {"object_kind": "Pod", "object_name": pod, "object_uid": pod, "message": text}
    return row(NodeEvent, ts=T0 + timedelta(seconds=seconds), **(known | about | values))


def life(pod: str, *changes: tuple[float, str]) -> list[Row]:
    return [row(PodBinding, ts=T0 + timedelta(seconds=s), node="n", uid=pod, change=change) for s, change in changes]


CASES = Cases()
Pulls: TypeAlias = Callable[[str], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def pulls(empty_database: EmptyDatabase) -> Pulls:
    """Return the pulls of a case in their order."""
    answers = CASES.answers(
        empty_database, "SELECT cluster, image, seconds, image_bytes, cause FROM image_pulls ORDER BY ts, pod"
    )
    return lambda case: [
        {name: value for name, value in each.items() if name != "cluster"} for each in answers.get(case, ())
    ]


def causes(pulls: Pulls, case: str) -> list[str]:
    return [each["cause"] for each in pulls(case)]


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


def looped(lacking: str = "") -> list[Row]:
    return [each for name, rows in LOOP.items() if name != lacking for each in rows]


WHOLE = CASES.add(*looped())


def test_image_gc_that_freed_space_while_nothing_used_the_image_is_the_cause(pulls: Pulls) -> None:
    assert causes(pulls, WHOLE) == ["", "image_gc"]


LACKING = {name: CASES.add(*looped(lacking=name)) for name in LOOP if name != "pulls"}


@pytest.mark.parametrize("lacking", LACKING)
def test_without_any_of_the_evidence_the_cause_is_unknown(lacking: str, pulls: Pulls) -> None:
    assert causes(pulls, LACKING[lacking]) == ["", "unknown"]


ANEW = [
    CASES.add(other._replace(ts=T0 + timedelta(hours=1)), *looped())
    for other in (
        NODE._replace(created_at=T0 + timedelta(hours=1)),
        pulled(60, "n", "Starting kubelet.", reason="Starting", object_kind="Node", name="start"),
    )
]


@pytest.mark.parametrize("case", ANEW, ids=["made", "started"])
def test_a_node_that_was_made_or_started_anew_may_have_lost_the_image_otherwise(case: str, pulls: Pulls) -> None:
    assert causes(pulls, case) == ["", "unknown"]


STILL_USED = [
    (CASES.add(*LOOP["pulls"], NODE, *life("old", (0, "bound")), *freed), cause)
    for freed, cause in (([], "in_use"), ([FREED], "unknown"))
]


@pytest.mark.parametrize(("case", "cause"), STILL_USED)
def test_what_a_running_pod_uses_was_there_unless_space_was_freed(case: str, cause: str, pulls: Pulls) -> None:
    assert causes(pulls, case) == ["", cause]


JUST_ENDED = [
    (CASES.add(*LOOP["pulls"], NODE, *life("old", (0, "bound"), (ended, "finished"))), cause)
    for ended, cause in ((7200.9, "unknown"), (7201.1, "in_use"))
]


@pytest.mark.parametrize(("case", "cause"), JUST_ENDED)
def test_the_time_of_an_event_has_whole_seconds(case: str, cause: str, pulls: Pulls) -> None:
    assert causes(pulls, case) == ["", cause]


def aged(seconds: int) -> KubeletSetting:
    return row(KubeletSetting, node="n", image_maximum_gc_age_seconds=seconds, image_gc_high_percent=85)


AGED = [
    (CASES.add(*LOOP["pulls"], NODE, *ENDED, aged(seconds)), cause)
    for seconds, cause in ((0, "unknown"), (6720, "maximum_age"), (6721, "unknown"))
]


@pytest.mark.parametrize(("case", "cause"), AGED)
def test_an_image_unused_for_its_maximum_age_and_a_run_of_image_gc_was_deleted(
    case: str, cause: str, pulls: Pulls
) -> None:
    assert causes(pulls, case) == ["", cause]


WAITED = CASES.add(
    pulled(0, "old"), pulled(1, "new", f'Successfully pulled image "{IMAGE}" in 1s (20s including waiting)')
)


def test_a_pull_that_waited_for_another_of_the_same_image_is_none_again(pulls: Pulls) -> None:
    assert causes(pulls, WAITED) == ["", ""]


WORDS = [
    (CASES.add(pulled(0, "p", f'{before}Successfully pulled image "{IMAGE}"{text}')), seconds, size)
    for text, seconds, size in (
        ("", None, None),
        (" in 1m2.5s", 62.5, None),
        (" in 350ms (1h0m3s including waiting)", 0.35, None),
        (" in 0s (0s including waiting). Image size: 80 bytes.", 0, 80),
        (" in 9999999999999h (99999999999999h including waiting)", 999999 * 3600, None),
    )
    for before in ("", "(combined from similar events): ")
]


@pytest.mark.parametrize(("case", "seconds", "size"), WORDS)
def test_a_pull_is_read_in_the_words_of_each_version(
    case: str, seconds: float | None, size: int | None, pulls: Pulls
) -> None:
    assert pulls(case) == [{"image": IMAGE, "seconds": seconds, "image_bytes": size, "cause": ""}]


NO_PULLS = [
    CASES.add(other)
    for other in (
        pulled(0, "p", PRESENT.message),
        pulled(0, "p", f'Successfully pulled image "{IMAGE}" in 1s. Image size: {10**30} bytes.'),
        pulled(0, "p", f'Successfully pulled image "{IMAGE}" \N{SNOWMAN}'),
        pulled(0, "p", 'Successfully pulled image "'),
        pulled(0, "p", component="somebody"),
        pulled(0, "p", object_kind="Node"),
    )
]


@pytest.mark.parametrize("case", NO_PULLS)
def test_what_is_not_the_kubelet_s_report_of_a_pull_is_none(case: str, pulls: Pulls) -> None:
    assert pulls(case) == []
