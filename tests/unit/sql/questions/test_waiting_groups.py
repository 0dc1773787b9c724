"""Workloads of Kueue and gangs of Volcano lack what their own schedulers say (rules: scheduling-queue)."""

from datetime import timedelta
from typing import Final

from components.rows import T0, row, store
from sql.database.open import Database
from sql.questions.queries import run, saved_query
from streams.fold.findings import NodeEvent

SPOT: Final = "insufficient unused quota for nvidia.com/gpu in flavor spot, 2 more needed"
NO_FLAVOR: Final = "couldn't assign flavors to pod set main: "
SAID: Final = {
    "short": f"{NO_FLAVOR}{SPOT}, insufficient unused quota for cpu in flavor on-demand, 500m more needed",
    "old": f"{NO_FLAVOR}insufficient unused quota in cohort for cpu in flavor default, 1 more needed",
    "never": f"{NO_FLAVOR}insufficient quota for cpu in flavor default, request > maximum capacity (16 > 8)",
    "sets": f"{NO_FLAVOR}insufficient quota for cpu in flavor default, "
    "previously considered podsets requests (6) + current podset request (4) > maximum capacity (8)",
    "inactive": "ClusterQueue team-a is inactive",
}
"""Texts of Kueue: pkg/scheduler/flavorassigner/flavorassigner.go of several releases."""
GANG: Final = (
    "3/4 tasks in gang unschedulable: pod group is not ready, 1 Running, 3 Pending, 4 minAvailable; "
    "Pending: 3 Unschedulable"
)


def said(name: str, minutes: int, reason: str, message: str, kind: str = "Workload") -> NodeEvent:
    at, named = T0 + timedelta(minutes=minutes), f"{name}.{minutes}"
    of = {"object_kind": kind, "object_name": name, "object_uid": name, "namespace": "ml"}
    return row(NodeEvent, ts=at, name=named, reason=reason, message=message, **of)


def test_the_last_words_of_kueue_and_volcano_say_what_is_missing(database: Database) -> None:
    store(
        database,
        *(said(name, 0, "Pending", text) for name, text in SAID.items()),
        said("admitted", 0, "Pending", SPOT),
        said("admitted", 1, "QuotaReserved", "Quota reserved in ClusterQueue team-a, wait time since queued was 60s"),
        said("again", 0, "Admitted", "Admitted by ClusterQueue team-a, wait time since reservation was 0s"),
        said("again", 1, "EvictedDueToPreempted", "Preempted to accommodate a workload"),
        said("off", 0, "Pending", SPOT),
        said("off", 1, "EvictedDueToDeactivated", "The workload is deactivated"),
        said(
            "late", 0, "EvictedDueToDeactivatedDueToRequeuingLimitExceeded", "exceeding the maximum number of retries"
        ),
        said("gang", 0, "Unschedulable", GANG, "PodGroup"),
        said("placed", 0, "Unschedulable", GANG, "PodGroup"),
        said("placed", 1, "Scheduled", "pod group is ready", "PodGroup"),
    )
    found = run(database, saved_query("waiting_groups"), {})
    places = [found.column_names.index(name) for name in ("workload", "lacks")]
    assert {each[places[0]]: each[places[1]] for each in found.rows} == {
        "short": ["2 more nvidia.com/gpu of flavor spot", "500m more cpu of flavor on-demand"],
        "old": ["1 more cpu of flavor default"],
        "never": ["a request of at most 8 cpu of flavor default"],
        "sets": ["a request of at most 8 cpu of flavor default"],
        "inactive": [],
        "again": [],
        "gang": ["room for its gang of 4: 3 pending"],
    }
