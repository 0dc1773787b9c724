"""Image GC that recovered is over, however the times of its episodes lie."""

from datetime import timedelta

import pytest

from components.rows import T0, row, store
from leadsman.web.attention.attention import attention
from leadsman.web.reading.overview import read_overview
from leadsman.web.reading.scope import Scope
from sql.database.open import Database
from sql.questions.queries import run, saved_query
from streams.fold.findings import ImageGc, NodeRow

HOUR = Scope("c", T0, T0 + timedelta(hours=1))


def episode(verdict: str, minutes: float, updated: float, node: str = "n", reason: str = "") -> ImageGc:
    at = T0 + timedelta(minutes=minutes)
    times = {"ts": at, "last_at": T0 + timedelta(minutes=20), "updated_at": T0 + timedelta(minutes=updated)}
    return row(ImageGc, node=node, verdict=verdict, reason=reason, explanation=f"{verdict} of {node}", **times)


def test_what_recovered_is_over_in_card_and_query_alike(database: Database) -> None:
    """Both episodes name the same last failure; a row of the failure is the newer by `ts`."""
    store(database, row(NodeRow, node="n", ready=True), episode("persistent", 10, 20), episode("recovered", 5, 26))
    titles = [item.title for item in attention(read_overview(database, HOUR, []))]
    assert "Image GC keeps failing" not in titles
    assert run(database, saved_query("image_gc"), {"broken": "1"}).rows == []


def test_a_card_of_several_nodes_says_of_which_its_text_is(database: Database) -> None:
    rows = [row(NodeRow, node=name, ready=True) for name in ("n", "m")]
    store(database, *rows, episode("persistent", 10, 20), episode("persistent", 2, 20, "m"))
    now = HOUR._replace(until=T0 + timedelta(minutes=25))
    (card,) = [item for item in attention(read_overview(database, now, [])) if "Image GC" in item.title]
    assert (card.nodes, card.since) == (("m", "n"), T0 + timedelta(minutes=2))
    assert card.text == "On m: persistent of m"


def test_nodes_whose_image_gc_cannot_delete_have_a_card_of_their_own(database: Database) -> None:
    rows = [row(NodeRow, node=name, ready=True) for name in ("n", "m")]
    deletes = episode("persistent", 2, 20, "m", reason="delete_error")
    store(database, *rows, episode("persistent", 10, 20, reason="runtime_error"), deletes)
    now = HOUR._replace(until=T0 + timedelta(minutes=25))
    cards = [item for item in attention(read_overview(database, now, [])) if "Image GC" in item.title]
    assert {item.title: item.nodes for item in cards} == {
        "Image GC keeps failing": ("n",),
        "Image GC fails to delete images": ("m",),
    }


@pytest.mark.parametrize(("seconds", "broken"), [(50, ["n"]), (70, [])])
def test_a_kubelet_can_report_a_minute_before_its_node_is_made(
    seconds: int, broken: list[str], database: Database
) -> None:
    """Its clock can be behind, or the Node can be made late; card and query agree."""
    failed = episode("persistent", 10, 20)
    made_at = failed.last_at + timedelta(seconds=seconds)
    store(database, row(NodeRow, node="n", ready=True, created_at=made_at), failed)
    now = HOUR._replace(until=T0 + timedelta(minutes=25))
    (card,) = [item for item in attention(read_overview(database, now, [])) if "Image GC" in item.title]
    answer = run(database, saved_query("image_gc"), {"broken": "1"})
    found = [dict(zip(answer.column_names, each, strict=True))["node"] for each in answer.rows]
    assert (card.now, found) == (bool(broken), broken)
