"""Silences in the database, on the page and in the story."""

from datetime import UTC, datetime, timedelta

import pytest

from components.rows import T0, dicts, row, store
from leadsman.web.reading.alerts import read_alerts
from leadsman.web.reading.evidence import read_evidence
from leadsman.web.reading.overview import read_spans
from leadsman.web.reading.scope import ALL, RequestedRange, choose
from sql.database.open import Database
from sql.landing.silences import Add, Expire, List, answer
from streams.alerting.silences import BadSilence, Silence, matchers
from streams.fold.findings import Alert, NodeRow


def silence(*texts: str, name: str = "00ff", seconds: float = 3600) -> Silence:
    return Silence(name, matchers(texts), T0, T0 + timedelta(seconds=seconds), "ana", "it's \\ a 'test'", T0)


def test_what_is_stored_is_read_again_and_ends_when_it_is_expired(database: Database) -> None:
    made = silence("node=~a\\.b'c", 'cluster!="x y"')
    assert answer(database, Add(made)) == [made]
    assert answer(database, List()) == [made]
    now = T0 + timedelta(seconds=60)
    assert answer(database, Expire("00", now)) == [made.expired(now)]
    assert answer(database, List()) == [made.expired(now)]


def test_a_silence_ends_although_the_clock_that_made_it_was_ahead(database: Database) -> None:
    made = silence("node=a")
    before = made.updated_at - timedelta(minutes=5)
    answer(database, Add(made))
    answer(database, Expire(made.id, before))
    assert [each.state(before) for each in answer(database, List())] == ["expired"]


def test_an_id_that_is_of_none_or_of_several_is_refused(database: Database) -> None:
    answer(database, Add(silence("a=b", name="aa1")))
    answer(database, Add(silence("a=b", name="aa2")))
    for text in ("", "aa", "b"):
        with pytest.raises(BadSilence, match="an id with that prefix"):
            answer(database, Expire(text, T0))


def test_a_pattern_that_the_engine_does_not_have_is_refused_before_it_is_stored(database: Database) -> None:
    with pytest.raises(BadSilence, match="RE2"):
        answer(database, Add(silence("node=~(?=x)y")))
    assert answer(database, List()) == []


def test_a_silenced_alert_is_marked_and_the_story_has_the_silence_of_its_clusters(database: Database) -> None:
    firing = {"ts": T0, "starts_at": T0, "updated_at": T0, "status": "firing", "severity": "critical"}
    nodes = [row(NodeRow, ts=T0, cluster=cluster, node="n") for cluster in ("lab", "prod")]
    alerts = [
        row(Alert, **firing, cluster="lab", alertname=name, fingerprint=name, labels={"alertname": name})
        for name in ("A", "B")
    ]
    store(database, *nodes, *alerts)
    answer(database, Add(silence("alertname=A", "cluster=~l.b|")))
    answer(database, Add(silence("alertname=[", name="ab")))
    (span,) = [each for each in read_spans(database) if each.cluster == "lab"]
    scope = choose([span], RequestedRange(cluster="lab", last=ALL))
    assert scope is not None
    found = read_alerts(database, read_evidence(database, scope)) or []
    marked = {each.name: (each.state, each.silenced) for each in found}
    until = f"{T0 + timedelta(hours=1):%Y-%m-%d %H:%M:%S} UTC"
    assert marked == {"A": ("silenced", f"until {until} by ana: it's \\ a 'test'"), "B": ("firing", "")}
    lines = dicts(database, "SELECT cluster, what FROM story WHERE kind = 'silence' ORDER BY cluster, what")
    of_a = f'Alerts are silenced until {until} by ana (alertname="A", cluster=~"l.b|"): it\'s \\ a \'test\''
    of_bracket = f"Alerts are silenced until {until} by ana (alertname=\"[\"): it's \\ a 'test'"
    assert [*map(tuple, map(dict.values, lines))] == [("lab", of_a), ("lab", of_bracket), ("prod", of_bracket)]


def test_times_are_aware(database: Database) -> None:
    answer(database, Add(silence("a=b")))
    (found,) = answer(database, List())
    assert found.starts_at == datetime(2026, 7, 1, 12, tzinfo=UTC)
