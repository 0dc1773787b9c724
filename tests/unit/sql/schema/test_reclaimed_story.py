"""A reclaim has one line of the story, whether an Event, the kubelet's log or both report it."""

from datetime import timedelta

from components.rows import T0, dicts, row, store
from sql.database.open import Database
from streams.fold.findings import KubeletLogLine, Reclaim


def test_a_line_of_the_log_that_an_event_reports_is_not_another(database: Database) -> None:
    """The Event counts attempts of ten minutes; the log says once, hours later, what no Event does."""
    disk = {"node": "n", "resource": "ephemeral-storage", "outcome": "no_eviction_seen"}
    event = row(Reclaim, ts=T0, last_at=T0 + timedelta(minutes=10), times=2, logged=True, **disk)
    lines = [
        row(KubeletLogLine, ts=T0 + timedelta(minutes=minutes), node=node, said="reclaimed", time_known=True)
        for minutes, node in ((10, "n"), (300, "n"), (10, "other"))
    ]
    store(database, event, *lines)
    found = dicts(database, "SELECT node, what FROM story WHERE about = 'reclaimed' ORDER BY ts, node")
    by_log = "The kubelet's log: it reclaimed enough without evicting pods."
    assert [(each["node"], each["what"]) for each in found] == [
        ("n", "The kubelet tried to reclaim ephemeral storage 2 times. According to its log, it evicted no pod."),
        ("other", by_log),
        ("n", by_log),
    ]
