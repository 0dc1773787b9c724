"""A capture is judged at its own end; what is live and silent since is not."""

from datetime import timedelta

from components.rows import T0, row, store, store_samples, summary
from leadsman.web.reading.fleet import Level, level_of
from leadsman.web.reading.overview import read_overview, read_spans
from leadsman.web.reading.scope import RequestedRange, choose
from leadsman.web.site.pages import Request, overview_of
from sql.database.open import Database
from streams.fold.findings import EvictionSignal, NodeRow


def test_a_recording_has_its_colours_and_says_when_it_ended(database: Database) -> None:
    later = T0 + timedelta(days=100)
    store(
        database,
        row(NodeRow, node="n", ready=True),
        row(EvictionSignal, node="n", signal="memory.available", capacity=1000, available=500, hard_threshold=100),
    )
    store_samples(database, summary(T0, "n", memory_available_bytes=500, memory_working_set_bytes=500))
    recorded = overview_of(database, Request.of({}), lambda: None) or ""
    live = overview_of(database, Request.of({}), lambda: later) or ""
    assert "Recording, ended" in recorded
    assert " ago" not in recorded
    assert 'id="live"' not in recorded, "nothing will change"
    assert "Recording" not in live
    assert 'id="live"' in live
    assert " ago" in live
    assert ('class="wrap wide aged"' in recorded, 'class="wrap wide aged"' in live) == (False, True)
    card = live[live.index("No current data") :].split("</article>")[0]
    assert 'class="lasted"' not in card, "the age beside it is that of now, not of the range"
    spans = read_spans(database)
    levels = [
        level_of(read_overview(database, choose(spans, RequestedRange(), now), spans).nodes[0])
        for now in (None, later)
    ]
    assert levels == [Level.PLENTY, Level.PLENTY], "of then, in grey"


def test_a_range_of_a_recording_says_its_own_end(database: Database) -> None:
    store(database, row(NodeRow, node="n", ready=True))
    until = "2026-07-01T12:10:00Z"
    assert "Recording, ended" not in (overview_of(database, Request.of({"until": until}), lambda: None) or "")
