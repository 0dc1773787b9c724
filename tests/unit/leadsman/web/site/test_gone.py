"""Nodes that are gone: a card's link leads to what happened there, or to what is known of it."""

from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timedelta
from functools import cache
from urllib.parse import parse_qsl, urlsplit

import aiohttp
import pytest
import pytest_asyncio
from aiohttp.test_utils import TestClient, TestServer
from msgspec.structs import replace

from components.database import EmptyDatabase
from components.rows import T0, row, store, store_samples, summary
from leadsman.web.attention.attention import attention
from leadsman.web.reading.overview import read_overview, read_spans
from leadsman.web.reading.scope import RequestedRange, choose
from leadsman.web.site.pages import NoSuchNode, Request, node_of
from leadsman.web.site.serve import Site
from sql.database.open import Database
from streams.fold.findings import NodeEvent, NodeRow, PodEnd, Row

pytestmark = pytest.mark.engine

Client = TestClient[aiohttp.web.Request, aiohttp.web.Application]
GONE = "gone <b>&1"
DELETED_AT = T0 + timedelta(minutes=20)
HOUR = {"since": "2026-07-01T12:00:00Z", "until": "2026-07-01T13:00:00Z"}
LATER = {"since": "2026-07-01T14:00:00Z", "until": "2026-07-01T15:00:00Z"}
EARLIER = {"since": "2026-07-01T08:00:00Z", "until": "2026-07-01T09:00:00Z"}


def at(minutes: int) -> datetime:
    return T0 + timedelta(minutes=minutes)


def killed(node: str, ts: datetime, uid: str, cluster: str = "c") -> PodEnd:
    of = {"cluster": cluster, "ts": ts, "node": node, "namespace": "shop", "pod": uid, "uid": uid}
    return row(PodEnd, container="app", cause="oom_kill", **of)


@pytest.fixture(scope="module")
def left(empty_database: EmptyDatabase) -> Iterator[Database]:
    """`here` stays until 15:00. GONE: an OOM kill at 12:10, its object deleted at 12:20, Events of it until 12:25.
    `unseen`: only an OOM kill at 12:10 names it.
    """
    with empty_database() as database:
        store(
            database,
            row(NodeRow, node="here", uid="here", ready=True),
            row(NodeRow, node="here", uid="here", ready=True, ts=at(180), taints=["a=b:NoSchedule"]),
            *deleted(GONE),
            row(NodeEvent, ts=at(25), node=GONE, type="Warning", reason="Rebooted", object_kind="Node",
                object_name=GONE, name="rebooted", occurrences=1, count=1, observed_at=at(25)),
            killed("unseen", at(10), "b"),
        )  # fmt: skip
        yield database


def deleted(node: str, cluster: str = "c") -> list[Row]:
    version = {"cluster": cluster, "node": node, "uid": "gone", "ready": True, "kubelet_version": "v1.36.3"}
    return [
        row(NodeRow, **version),
        row(NodeRow, deleted=True, ts=DELETED_AT, **version),
        killed(node, at(10), "a", cluster),
    ]


@cache
def page(db: Database, node: str, **asked: str) -> str:
    return node_of(db, Request.of({"node": node, **asked}), lambda: at(190)) or ""


def refused(db: Database, node: str, **asked: str) -> NoSuchNode:
    with pytest.raises(NoSuchNode) as raised:
        page(db, node, **asked)
    return raised.value


def test_every_node_that_a_card_of_the_cluster_names_has_a_page_of_its_range(left: Database) -> None:
    spans = read_spans(left)
    view = read_overview(left, choose(spans, RequestedRange(**HOUR), at(190)), spans)
    assert [node.name for node in view.nodes] == ["here"]
    named = {name for item in attention(view) for name in item.nodes}
    assert named == {GONE, "unseen"}
    for name in named:
        assert "1 OOM kill of 1 container" in page(left, name, **HOUR)


def test_the_page_of_a_node_that_is_gone_says_so(left: Database) -> None:
    text = page(left, GONE, **HOUR)
    assert '<span class="tag note">deleted</span>' in text
    assert "deleted (seen at <time" in text
    assert "2026-07-01 12:20:00" in text
    assert "v1.36.3" in text
    assert "Rebooted" in text
    for wrong in ("Ready unknown", "Ready not reported", "all clear", GONE):
        assert wrong not in text


def test_a_node_without_an_object_is_not_called_deleted(left: Database) -> None:
    text = page(left, "unseen", **HOUR)
    assert "<dt>Node object</dt> <dd>none was seen</dd>" in text
    assert "Ready not reported" in text
    assert "deleted" not in text


def test_a_node_that_was_deleted_in_the_range_is_of_it_though_nothing_else_happened(left: Database) -> None:
    text = page(left, GONE, since="2026-07-01T12:20:00Z", until="2026-07-01T12:21:00Z")
    assert '<span class="tag note">deleted</span>' in text


def test_a_deleted_node_with_samples_is_not_ready_unknown_in_the_list(left: Database) -> None:
    store(left, *deleted(GONE, "sampled"))
    sample = summary(at(10), GONE, (), memory_available_bytes=1, memory_working_set_bytes=1)
    store_samples(left, replace(sample, cluster="sampled"))
    spans = read_spans(left)
    view = read_overview(left, choose(spans, RequestedRange(cluster="sampled", **HOUR), at(190)), spans)
    (gone,) = [node for node in view.nodes if node.name == GONE]
    assert (gone.known, gone.ready, gone.deleted_at) == (False, None, DELETED_AT)
    assert "1 OOM kill of 1 container" in page(left, GONE, cluster="sampled", **HOUR)


def test_of_a_range_without_it_the_page_says_when_it_was_last_seen_and_leads_there(left: Database) -> None:
    error = refused(left, GONE, **LATER)
    assert error.texts == [
        f"Cluster c has no node {GONE!r} from 2026-07-01 14:00:00 to 2026-07-01 15:00:00 UTC.",
        "It was last seen at 2026-07-01 12:25:00 UTC.",
        "At 2026-07-01 12:20:00 UTC its Node object was found deleted.",
    ]
    ((name, address),) = error.alternatives
    assert name == f"Node {GONE!r} until then"
    asked = dict(parse_qsl(urlsplit(address).query))
    assert asked == {
        "cluster": "c",
        "node": GONE,
        "since": "2026-07-01T11:25:01Z",
        "until": "2026-07-01T12:25:01Z",
    }
    assert "1 OOM kill of 1 container" in page(left, **asked)


def test_of_a_range_before_it_the_page_leads_to_its_beginning(left: Database) -> None:
    error = refused(left, GONE, **EARLIER)
    assert error.texts[1:] == ["After this range it was first seen at 2026-07-01 12:00:00 UTC."]
    ((_, address),) = error.alternatives
    asked = dict(parse_qsl(urlsplit(address).query))
    assert (asked["since"], asked["until"]) == ("2026-07-01T12:00:00Z", "2026-07-01T13:00:00Z")
    assert GONE not in page(left, **asked)


def test_of_a_node_that_nothing_names_the_page_claims_nothing(left: Database) -> None:
    error = refused(left, "nonesuch", **HOUR)
    assert error.texts[1:] == ["No stored data names it. Check the spelling and the cluster."]
    assert not error.alternatives


@pytest_asyncio.fixture
async def client(left: Database) -> AsyncIterator[Client]:
    made = TestClient(TestServer(Site(left, "", guard_host=True).application()))
    await made.start_server()
    yield made
    await made.close()


@pytest.mark.asyncio
@pytest.mark.parametrize("node", [GONE, "<img src=x>", ""])
async def test_its_links_keep_cluster_and_range_and_its_name_is_escaped(client: Client, node: str) -> None:
    answer = await client.get("/node", params={"cluster": "c", "node": node, "last": "1h", "live": "1"})
    text = await answer.text()
    assert answer.status == 404
    assert '<a href="/?cluster=c&amp;last=1h&amp;live=1">To the overview</a>' in text
    assert 'href="/numa?cluster=c&amp;last=1h&amp;live=1"' in text
    assert 'id="live"' not in text
    assert not node or node not in text


@pytest.mark.asyncio
async def test_an_address_that_cannot_be_read_is_not_carried_on(client: Client) -> None:
    wrong = await client.get("/node", params={"cluster": "other", "node": GONE})
    assert (wrong.status, '<a href="/">To the overview</a>' in await wrong.text()) == (400, True)
    none = await client.get("/nothing", params={"cluster": "c", "last": "1h"})
    assert (none.status, '<a href="/?cluster=c&amp;last=1h">To the overview</a>' in await none.text()) == (404, True)
