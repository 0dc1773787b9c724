"""A card counts all pods, however many owners they have."""

from datetime import timedelta

from components.rows import T0, row, store
from leadsman.web.reading.ask import ask
from leadsman.web.reading.scope import Scope
from sql.database.open import Database
from streams.fold.findings import PodEnd


def test_pods_of_thousands_of_owners_are_all_counted(database: Database) -> None:
    ends = (
        row(PodEnd, ts=T0, node="n", namespace="a", pod=f"p{number}", uid=f"u{number}", cause="admission")
        for number in range(2500)
    )
    store(database, *ends)
    rows = ask(database, "killed_by_owner", Scope("c", T0, T0 + timedelta(hours=1)), node="")
    assert sum(each["pods"] for each in rows) == 2500
