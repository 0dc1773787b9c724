"""A dump of `kubectl get nodes,pods,events -A -o json` of an ordinary troubled cluster, made by hand.

One node is not ready, one silent, one cordoned, one under disk pressure; pods are evicted, Pending, OOM killed, or in
a crash loop.
"""

import html
import re
from typing import NamedTuple

import pytest

from components.command import succeeds
from components.rows import T0, dicts
from leadsman.web.reading.scope import RequestedRange
from leadsman.web.rendering.report import write_report
from leadsman.web.site.pages import Request, overview_of
from paths import EXAMPLES
from sql.database.open import connect

DUMP = EXAMPLES / "troubled-cluster.json"


class Reported(NamedTuple):
    """The words of one cluster as a story, as a page and as a report, and the alerts that fire."""

    story: str
    page: str
    report: str
    firing: set[tuple[str, str]]


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Reported:
    folder = tmp_path_factory.mktemp("troubled") / "db"
    story = succeeds("replay", DUMP, db=folder)
    with connect(f"chdb://{folder}") as database:
        page = overview_of(database, Request.of({}))
        report = write_report(database, RequestedRange(), T0)
        alerts = dicts(
            database,
            "SELECT alertname, node, argMax(status, (ts, status = 'resolved')) AS last"
            " FROM alerts FINAL GROUP BY alertname, node, fingerprint",
        )
    assert page is not None
    firing = {(row["alertname"], row["node"]) for row in alerts if row["last"] == "firing"}
    return Reported(" ".join(story.split()), words(page), words(report), firing)


def words(page: str) -> str:
    text = re.sub(r"<(script|style).*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


@pytest.mark.parametrize(
    "text",
    [
        "1 of 6 nodes not Ready",
        "cni plugin not initialized",
        "1 of 6 nodes with Ready unknown",
        "1 of 6 nodes cordoned",
        "4 pods Pending",
        "3 of ReplicaSet cart-66b7c9f5d8 in shop: 1 Insufficient cpu",
        "shop/checkout-84f9d6c7b5-tb4lr on worker-1: Failed: Error: ImagePullBackOff",
        "Disk: 1 pod evicted, DiskPressure on 1 node",
        "DaemonSet collector in logging, once",
        "1 OOM kill of 1 container",
        "ReplicaSet api-5d4f7c8b9 in shop, once",
        "Crash loop: containers end and are restarted again and again (BackOff)",
        "kubectl logs --previous -n batch report-6f8c5d9b7-m5k2w",
        "DiskPressure",
    ],
)
def test_each_trouble_has_its_card_in_the_story_on_the_page_and_in_the_report(reported: Reported, text: str) -> None:
    for words_of in (reported.story, reported.page, reported.report):
        assert text in words_of


@pytest.mark.parametrize("title", ["1 of 6 nodes not Ready", "4 pods Pending", "Disk: 1 pod evicted", "Crash loop"])
def test_no_trouble_has_two_cards(reported: Reported, title: str) -> None:
    assert reported.story.count(title) == 1
    assert reported.page.count(title) == 1


def test_conditions_have_their_own_times_and_not_that_of_the_dump(reported: Reported) -> None:
    assert "1 of 6 nodes not Ready, since 01:32:00." in reported.story
    assert "1 of 6 nodes with Ready unknown, since 01:58:00." in reported.story
    assert "4 pods Pending, since 01:36:00." in reported.story
    assert "Disk: 1 pod evicted, DiskPressure on 1 node, since 01:49:00." in reported.story
    assert "01:50:00 worker-5 Pod logging/collector-9w4gt was evicted" in reported.story


def test_the_alerts_are_those_that_last_and_not_that_of_the_cordoned_node(reported: Reported) -> None:
    assert reported.firing == {
        ("NodeNotReady", "worker-2"),
        ("NodeNotReady", "worker-3"),
        ("NodePressureLasting", "worker-5"),
    }
