"""The search of every page: nodes and pods by parts of their names, and the page of the only match."""

import re

import pytest

from components.rows import row, store
from leadsman.web.site.pages import NoSuchNode, Redirect, Request, find_of, node_of
from sql.database.open import Database
from streams.fold.findings import NodeRow, PodBinding

HOSTILE = "<b>x</b>"


@pytest.fixture
def filled(database: Database) -> Database:
    store(
        database,
        *(row(NodeRow, node=node, ready=True) for node in ("worker-1", "worker-10", "worker_x", HOSTILE)),
        *(
            row(PodBinding, change="bound", phase="Running", node=node, namespace="shop", pod=pod, uid=pod)
            for pod, node in (("cart-7d9", "worker-1"), ("cart-8e0", "worker-10"), ("api-1", "worker-1"))
        ),
        row(PodBinding, change="pending", phase="Pending", node="", namespace="shop", pod="waits-1", uid="w"),
    )
    return database


def goes_to(db: Database, text: str) -> str:
    with pytest.raises(Redirect) as found:
        find_of(db, Request.of({"q": text}), lambda: None)
    return str(found.value)


def listed(db: Database, text: str) -> list[str]:
    page = find_of(db, Request.of({"q": text}), lambda: None) or ""
    return re.findall(r'<a class="mono" href="[^"]*">(.*?)</a>', page)


def test_the_only_match_opens_its_page(filled: Database) -> None:
    assert goes_to(filled, "API") == "/node?cluster=c&node=worker-1#order"
    assert goes_to(filled, "shop 8e0") == "/node?cluster=c&node=worker-10#order"
    assert goes_to(filled, "waits") == "/?cluster=c#scheduler"


def test_a_whole_name_opens_its_page_though_others_begin_so(filled: Database) -> None:
    assert goes_to(filled, "worker-1") == "/node?cluster=c&node=worker-1"
    assert goes_to(filled, "shop/cart-7d9") == "/node?cluster=c&node=worker-1#order"


def test_several_matches_are_listed_nodes_first(filled: Database) -> None:
    assert listed(filled, "r") == ["worker-1", "worker-10", "worker_x", "shop/cart-7d9", "shop/cart-8e0"]


def test_a_pod_that_is_gone_is_not_said_to_be_anywhere(filled: Database) -> None:
    """Also where it was last seen at the time at which it was deleted."""
    never = {"namespace": "shop", "pod": "waits-2", "uid": "v", "node": "", "phase": "Pending"}
    ended = {"namespace": "shop", "pod": "waits-3", "uid": "e", "node": "worker-1", "phase": "Failed"}
    store(
        filled,
        *(row(PodBinding, change=change, **never) for change in ("pending", "deleted")),
        row(PodBinding, change="finished", **ended),
    )
    page = find_of(filled, Request.of({"q": "waits"}), lambda: None) or ""
    assert re.findall(r'waits-\d</a> <span class="muted">(.*?)</span>', page) == [
        "waits for a node",
        "never had a node",
        "was on worker-1",
    ]
    assert goes_to(filled, "waits-2") == "/?cluster=c#timeline"


@pytest.mark.parametrize("text", ["", "  ", "nothing", "%", "' OR 1=1 --"])
def test_without_a_match_nothing_is_listed_and_no_character_is_a_pattern(filled: Database, text: str) -> None:
    assert listed(filled, text) == []


@pytest.mark.parametrize(
    ("text", "first"), [("worker1", "worker-1"), ("workr-10", "worker-10"), ("shop/crat-7d9", "shop/cart-7d9")]
)
def test_a_mistyped_name_lists_similar_ones_and_opens_none(filled: Database, text: str, first: str) -> None:
    page = find_of(filled, Request.of({"q": text}), lambda: None) or ""
    assert "No node or pod of this cluster has that in its name" in page
    assert "Similar names:" in page
    found = listed(filled, text)
    assert found[0] == first
    assert len(found) <= 5


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("worker1", ("Node worker-1", "/node?cluster=c&node=worker-1")),
        ("WORKER-10", ("Node worker-10", "/node?cluster=c&node=worker-10")),
        ("api-1", ("Pod shop/api-1, on worker-1", "/node?cluster=c&node=worker-1#order")),
    ],
)
def test_an_unknown_node_leads_to_similar_names_and_to_a_pod_of_its_name(
    filled: Database, text: str, link: tuple[str, str]
) -> None:
    with pytest.raises(NoSuchNode) as refused:
        node_of(filled, Request.of({"node": text}), lambda: None)
    assert refused.value.alternatives[0] == link


def test_question_and_answer_are_escaped_text(filled: Database) -> None:
    store(filled, row(NodeRow, node=f"{HOSTILE}2", ready=True))
    page = find_of(filled, Request.of({"q": HOSTILE[:4]}), lambda: None) or ""
    assert HOSTILE[:4] not in page
    assert page.count("&lt;b&gt;x") >= 3
