"""Attention of one node: its own part of the cluster's, with its own counts."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cache

import pytest
from msgspec.structs import replace

from components.database import EmptyDatabase
from components.rows import T0, row, store, store_samples, summary
from leadsman.web.attention.attention import attention
from leadsman.web.attention.item import Item
from leadsman.web.reading.overview import narrowed, read_overview, read_spans, read_warnings
from leadsman.web.reading.scope import RequestedRange, choose
from leadsman.web.rendering.report import write_report
from leadsman.web.site.pages import Request, node_of
from sql.database.open import Database
from streams.fold.findings import Eviction, EvictionSignal, NodeEvent, NodeRow, PodBinding, PodEnd, SourceError

pytestmark = pytest.mark.engine

GIB = 1 << 30
END = T0 + timedelta(minutes=1)
CARDS = 'class="compact"'
ASKED = RequestedRange(cluster="c")
"""One of the clusters of the database."""


@pytest.fixture(scope="module")
def troubled(empty_database: EmptyDatabase) -> Iterator[Database]:
    """`hot`: 2 pods evicted, an OOM kill, 3 failed probes, not Ready, its kubelet silent. `cold`: 1 pod evicted, 4
    failed probes. `quiet`: nothing.
    """
    with empty_database() as database:
        _fill(database)
        yield database


def _fill(database: Database) -> None:
    for name, evictions, probes in (("hot", 2, 3), ("cold", 1, 4), ("quiet", 0, 0)):
        store(
            database,
            row(NodeRow, node=name, uid=name, ready=name != "hot", ready_since=T0),
            row(PodBinding, change="bound", phase="Running", node=name, namespace="shop", pod=name, uid=name),
            *(
                row(Eviction, node=name, namespace="shop", pod=f"{name}-{nth}", uid=f"{name}-{nth}", cause="pressure",
                    resource="memory", signal="memory.available", evidence="both", updated_at=T0)
                for nth in range(evictions)
            ),
            *([row(NodeEvent, node=name, type="Warning", reason="Unhealthy", object_kind="Pod", namespace="shop",
                   object_name=name, object_uid=name, name=name, occurrences=probes, count=probes, observed_at=T0)]
              if probes else []),
        )  # fmt: skip
    store(
        database,
        row(PodEnd, node="hot", namespace="shop", pod="hot", uid="hot", container="app", cause="oom_kill"),
        row(SourceError, node="hot", resource="stats/summary", kind="silent", silent_seconds=90.0, error="no answer"),
    )
    sample = {"memory_available_bytes": GIB, "memory_working_set_bytes": GIB}
    store_samples(database, *(summary(T0, name, (), **sample) for name in ("hot", "cold", "quiet")))


@cache
def cards(db: Database, node: str) -> list[Item]:
    spans = read_spans(db)
    return attention(read_overview(db, choose(spans, ASKED, END), spans, node))


def _page(db: Database, node: str, cluster: str = "c", now: datetime = END) -> str:
    return node_of(db, Request.of({"cluster": cluster, "node": node}), lambda: now) or ""


def test_a_node_has_cards_of_what_happened_there_and_of_nothing_else(troubled: Database) -> None:
    assert [(item.title, item.now) for item in cards(troubled, "hot")] == [
        ("Not Ready", True),
        ("2 pods evicted for memory", False),
        ("1 OOM kill of 1 container", False),
        ("stats/summary fell silent", False),
        ("Probes failed (Unhealthy), 3 times", False),
    ]
    assert [item.title for item in cards(troubled, "cold")] == [
        "1 pod evicted for memory",
        "Probes failed (Unhealthy), 4 times",
    ]
    assert cards(troubled, "quiet") == []


def test_the_report_narrows_the_cluster_to_what_the_page_reads_of_each_node(troubled: Database) -> None:
    spans = read_spans(troubled)
    scope = choose(spans, ASKED, END)
    whole = read_overview(troubled, scope, spans)
    assert [node.name for node in whole.nodes] == ["cold", "hot", "quiet"]
    for line in whole.nodes:
        warnings = read_warnings(troubled, scope, [line.name]).get(line.name, ())
        assert attention(narrowed(whole, line, warnings)) == cards(troubled, line.name)


def test_page_and_report_have_them_before_the_charts(troubled: Database) -> None:
    page = _page(troubled, "hot")
    report = write_report(troubled, ASKED, END)
    part = report[report.index('id="node-1"') : report.index('id="node-2"')]
    for text in (page, part):
        assert text.count(CARDS) == 1
        assert text.index(CARDS) < text.index("2 pods evicted for memory") < text.index("Room left</h")
    assert "<title>(1) hot" in page


def test_a_quiet_node_has_no_cards_and_is_never_all_clear_without_evidence(troubled: Database) -> None:
    assert CARDS not in _page(troubled, "quiet")
    silent = _page(troubled, "quiet", now=T0 + timedelta(minutes=11))
    assert "No current data" in silent
    assert "all clear" not in silent


def test_a_node_without_statistics_is_not_called_well(troubled: Database) -> None:
    store(troubled, row(NodeRow, cluster="unsampled", node="n", uid="n", ready=True))
    page = _page(troubled, "n", "unsampled")
    assert "No recent statistics" in page
    assert "Its free room and upcoming pressure are unknown." in page


def opened(page: str) -> tuple[list[str], list[str]]:
    """The titles of the cards that are open on a node's page, of now and of the range."""
    part = page[page.index(CARDS) : page.index("</section>", page.index(CARDS))]
    columns = re.sub(r"<details.*?</details>", "", part, flags=re.DOTALL).split('<h2 class="when">')[1:]
    now, earlier = (re.findall(r"<h3><a [^>]*>([^<]*)</a>", column) for column in columns)
    return now, earlier


def test_what_is_critical_now_is_open_on_a_node_s_page_and_of_the_range_the_first(troubled: Database) -> None:
    """Not Ready, four signals below their thresholds, two of one disk; and the warnings of the range."""
    signals = ("memory.available", "nodefs.available", "nodefs.inodesFree", "pid.available")
    n = {"cluster": "critical", "node": "n"}
    store(
        troubled,
        row(NodeRow, uid="n", ready=False, ready_since=T0, **n),
        *(row(EvictionSignal, signal=each, available=1, capacity=9, hard_threshold=2, hard_met=True, **n)
          for each in signals),
        *(row(NodeEvent, type="Warning", reason=reason, object_kind="Node", object_name="n", name=reason,
              occurrences=1, count=1, observed_at=T0, **n) for reason in ("Rebooted", "Odd", "Strange")),
    )  # fmt: skip
    sample = summary(T0, "n", (), memory_available_bytes=1, memory_working_set_bytes=8)
    store_samples(troubled, replace(sample, cluster="critical"))
    now, earlier = opened(_page(troubled, "n", "critical"))
    assert now == [
        "Not Ready",
        "Memory is below its hard threshold",
        "Disk: below the hard threshold, inodes below the hard threshold",
        "Process IDs are below their hard threshold",
    ]
    assert len(earlier) == 1
