"""The saved queries: what a person reads of them, their parameters, and some of their answers."""

from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from components import rows
from components.database import EmptyDatabase
from components.rows import T0, row, summary
from ingest.model.records import SummaryRecord
from sql.database.open import Database, Result, connect
from sql.questions.cells import FLAGS
from sql.questions.limits import SHARED as LIMITS
from sql.questions.missing import why_empty
from sql.questions.queries import (
    QUERIES,
    BadParameter,
    Parameter,
    SavedQuery,
    UnknownQuery,
    chosen,
    run,
    saved_queries,
    saved_query,
    values,
    with_forms,
)
from streams.fold.findings import (
    DeadLetter,
    Eviction,
    EvictionSignal,
    ImageGc,
    NodeEvent,
    NodeFit,
    NodeRow,
    PodBinding,
    PressureChange,
    Row,
)

ALL = with_forms()
LISTED = saved_queries()


def test_there_are_at_least_fifteen_saved_queries() -> None:
    assert len(ALL) >= 15
    assert sorted(query.name for query in ALL) == sorted(file.stem for file in QUERIES.glob("*.sql"))


@pytest.mark.parametrize("query", ALL, ids=lambda query: query.name)
def test_a_saved_query_says_in_one_line_what_it_answers(query: SavedQuery) -> None:
    assert query.description
    assert len(query.description) < 110
    assert not query.description.endswith(".")
    assert not query.description.startswith("--")


@pytest.mark.parametrize("query", ALL, ids=lambda query: query.name)
def test_a_saved_query_binds_each_parameter_that_it_declares(query: SavedQuery) -> None:
    bound, _ = chosen(query, {})
    for parameter in bound.parameters:
        assert f"{{{parameter.name}:{parameter.type}}}" in query.sql
    lines = (QUERIES / f"{query.name}.sql").read_text("utf-8").splitlines()
    named = [line.removeprefix("-- param ") for line in lines if line.startswith("-- param ")]
    declared = ", ".join(each.partition(" ")[0] if ":" in each else each for each in named)
    assert declared == ", ".join(each.name for each in bound.parameters)


class OnNothing(NamedTuple):
    """Answers of a question on an empty database within the memory of the page, and the reason why it is empty."""

    found: Result
    why: str


@pytest.fixture(scope="module")
def on_nothing(empty_database: EmptyDatabase) -> dict[str, OnNothing]:
    limits = LIMITS._replace(seconds=60)
    with empty_database() as db:
        return {
            each.name: OnNothing(run(db, each, {}, limits), why_empty(db, each, {}) if each.needs else "")
            for each in ALL
        }


@pytest.mark.parametrize("query", ALL, ids=lambda query: query.name)
def test_a_saved_query_has_columns_and_no_rows_on_an_empty_database(
    query: SavedQuery, on_nothing: dict[str, OnNothing]
) -> None:
    found, why = on_nothing[query.name]
    assert (bool(found.column_names), list(found.rows)) == (True, [])
    assert not query.needs or why.startswith("The database is empty: replay a capture")


def test_every_flag_of_a_table_or_a_question_is_known_as_one(
    on_nothing: dict[str, OnNothing], migrated_folder: Path
) -> None:
    """A number of that type would be an exception here."""
    with connect(f"chdb://{migrated_folder}", make=False, read_only=True) as db:
        columns = db.query("SELECT name, type FROM system.columns WHERE database = currentDatabase()").rows
    asked = [
        pair
        for each in on_nothing.values()
        for pair in zip(each.found.column_names, each.found.column_types, strict=True)
    ]
    flags = {name for name, kind in (*columns, *asked) if kind in {"UInt8", "Nullable(UInt8)"}}
    assert flags == FLAGS


UNNARROWED = {
    # whether a scheduler sees its nodes, or new pods reach them, is a question of several nodes
    "blind_spots",
    "nodes_without_new_pods",
    # with their own meaning of a node: those without an input, or one row for each strategy
    "numa_whatif",
}
"""Questions about a cluster whose rows name a node, and that are not asked of one."""


def test_every_question_whose_rows_name_a_cluster_or_a_node_is_asked_of_one(
    on_nothing: dict[str, OnNothing],
) -> None:
    for query in ALL:
        has = {parameter.name for parameter in query.parameters}
        columns = set(on_nothing[query.name].found.column_names)
        wanted = columns & {"cluster"} if query.name in UNNARROWED else columns & {"cluster", "node"}
        assert wanted - has == set(), query.name


def test_a_question_about_a_cluster_and_a_node_has_rows_of_no_other(database: Database) -> None:
    """Rows of the same node's name in two clusters, and of another node."""
    for cluster, node in (("c", "n"), ("c", "m"), ("d", "n")):
        given = {"cluster": cluster, "node": node, "pod": f"{cluster}-{node}", "uid": f"{cluster}-{node}"}
        store(database, row(Eviction, cause="pressure", **given), row(PodBinding, change="bound", **given))
    for name in ("evicted_pods", "cgroups"):
        assert column(database, name, "pod", cluster="c") == ["c-m", "c-n"], name
        assert column(database, name, "pod", cluster="c", node="n") == ["c-n"], name
        assert len(column(database, name, "pod")) == 3, name


def test_an_older_name_asks_the_question_that_took_its_place_and_no_list_has_it() -> None:
    older = {name: query for query in ALL for name in query.was}
    assert not older.keys() & {query.name for query in ALL}
    for name, query in older.items():
        parameters = {each.name: each.default for each in saved_query(name).parameters}
        assert saved_query(name).name == query.name
        assert query.was[name].items() <= parameters.items(), name
        values(query, query.was[name])
    with pytest.raises(UnknownQuery) as refused:
        saved_query("nonesuch")
    assert "time_to_thresholds" not in str(refused.value)


@pytest.mark.parametrize("query", ALL, ids=lambda query: query.name)
def test_a_table_has_three_to_six_columns_that_answer(query: SavedQuery, on_nothing: dict[str, OnNothing]) -> None:
    """The next eviction has seven: node, signal, room, time, pod, its growth and the threshold."""
    most = 7 if query.name == "next_eviction" else 6
    assert 3 <= len(query.shows or on_nothing[query.name].found.column_names) <= most


def test_there_are_about_45_questions_and_each_form_is_asked_with_by() -> None:
    """A question is all that one person asks at once; the limit is the room that a list of one screen has."""
    assert len(LISTED) <= 46
    forms = {each.name: each for each in ALL if each.form[0]}
    assert {"pending_fit", "eviction_causes"} <= forms.keys()
    assert not forms.keys() & {query.name for query in LISTED}
    for name, form in forms.items():
        question, by = form.form
        assert chosen(saved_query(question), {"by": by, "cluster": "c"}) == (saved_query(name), {"cluster": "c"})
        assert saved_query(name).group == saved_query(question).group
        assert by in values(saved_query(question), {"by": by}).values()
        assert by in next(each.meaning for each in saved_query(question).parameters if each.name == "by")


def test_a_form_that_a_question_lacks_is_refused_with_those_that_it_has(database: Database) -> None:
    with pytest.raises(BadParameter, match=r"pending_pods has no form by='moon'\. Forms: node"):
        run(database, saved_query("pending_pods"), {"by": "moon"})
    with pytest.raises(BadParameter, match="no parameter 'by'"):
        run(database, saved_query("stalls"), {"by": "node"})


@pytest.mark.parametrize("query", [each for each in LISTED if each.forms], ids=lambda query: query.name)
def test_a_page_asks_a_question_and_each_form_with_every_parameter_that_it_lists(query: SavedQuery) -> None:
    posted = {each.name: "" if each.of_time else each.default for each in query.parameters}
    for by in ("", *query.forms):
        form, given = chosen(query, posted | {"by": by})
        assert values(form, given) == values(form, {})
        assert {each.name for each in form.parameters} <= posted.keys()


def test_a_parameter_that_a_form_lacks_is_refused_by_the_name_with_which_it_is_asked() -> None:
    pending = saved_query("pending_pods")
    with pytest.raises(
        BadParameter, match=r"query pending_pods --by node has no parameter 'fitting'\. It has: .*pod"
    ):
        values(*chosen(pending, {"by": "node", "fitting": "1"}))
    with pytest.raises(BadParameter, match=r"query pending_pods has no parameter 'pod'"):
        values(*chosen(pending, {"pod": "web"}))


def test_an_unknown_query_gets_the_known_ones() -> None:
    with pytest.raises(UnknownQuery, match="story"):
        saved_query("nonesuch")


def test_an_unknown_parameter_gets_the_known_ones() -> None:
    with pytest.raises(BadParameter, match="node"):
        values(saved_query("story"), {"nod": "x"})
    with pytest.raises(BadParameter, match="It has none"):
        values(saved_query("dead_letters"), {"node": "x"})


@pytest.mark.parametrize(
    ("kind", "text"),
    [("UInt32", "-1"), ("UInt32", "two"), ("UInt32", "1.5"), ("Float64", "x"), ("DateTime64(6)", "yesterday")],
)
def test_a_value_of_a_wrong_type_is_refused_with_its_meaning(kind: str, text: str) -> None:
    query = SavedQuery("q", "d", (Parameter("p", kind, "1", "how many"),), "SELECT 1")
    with pytest.raises(BadParameter, match=r"p cannot be .* \(how many\)"):
        values(query, {"p": text})


def test_a_time_is_bound_in_utc() -> None:
    query = saved_query("story")
    bound = values(query, {"since": "2026-07-01T14:00:00+02:00"})
    assert bound["since"] == "2026-07-01 12:00:00.000000"
    assert bound["node"] == ""


def test_a_hostile_parameter_stays_text(database: Database) -> None:
    store(database, row(EvictionSignal, node="n", signal="s"))
    assert list(run(database, saved_query("next_eviction"), {"node": "' OR 1=1 --"}).rows) == []
    assert len(run(database, saved_query("next_eviction"), {"node": "n"}).rows) == 1


ANSWERS: dict[tuple[str, str], Result] = {}
"""Has the answers since something was stored: a test looks at several columns of one."""


@pytest.fixture(autouse=True)
def _nothing_was_asked() -> None:
    ANSWERS.clear()


def store(db: Database, *stored: Row) -> None:
    ANSWERS.clear()
    rows.store(db, *stored)


def store_samples(db: Database, *stored: SummaryRecord) -> None:
    ANSWERS.clear()
    rows.store_samples(db, *stored)


def column(db: Database, name: str, wanted: str, **given: str) -> list[object]:
    asked = name, repr(sorted(given.items()))
    if asked not in ANSWERS:
        ANSWERS[asked] = run(db, saved_query(name), given)
    found = ANSWERS[asked]
    return [one[found.column_names.index(wanted)] for one in found.rows]


def test_image_gc_is_broken_until_it_recovered(database: Database) -> None:
    later = T0 + timedelta(hours=1)
    store(
        database,
        row(ImageGc, node="broken", reason="insufficient_freed", verdict="insufficient_freed"),
        row(ImageGc, node="broken", ts=later, last_at=later, reason="invalid_capacity", verdict="benign_startup"),
        row(ImageGc, node="well", reason="insufficient_freed", verdict="insufficient_freed"),
        row(ImageGc, node="well", ts=later, last_at=later, reason="insufficient_freed", verdict="recovered"),
        row(ImageGc, node="benign", reason="invalid_capacity", verdict="benign_startup"),
    )
    assert column(database, "image_gc", "node", broken="1") == ["broken"]
    assert column(database, "image_gc", "since", broken="1") == [T0]


def test_broken_image_gc_counts_ended_pods_whose_containers_are_still_there(database: Database) -> None:
    def pod(uid: str, change: str = "finished", seconds: int = 0, **values: Any) -> PodBinding:
        return row(PodBinding, ts=T0 + timedelta(seconds=seconds), node="n", uid=uid, change=change, **values)

    gone, evicted, running = pod("gone"), pod("evicted", reason="Evicted"), pod("running", "bound")
    store(
        database,
        *(
            row(ImageGc, node=node, reason="insufficient_freed", verdict="insufficient_freed")
            for node in ("n", "other")
        ),
        *(pod("done"), pod("late", reason="DeadlineExceeded"), gone, pod("gone", "deleted", 1), evicted, running),
    )
    assert column(database, "image_gc", "ended_pods") == [2, None], "of the other no pod was seen"
    assert column(database, "image_gc", "held_images") == ["unknown", None]
    store(
        database,
        *(
            row(
                NodeEvent,
                node="n",
                name=f"{uid}.{number}",
                reason="Pulled",
                component="kubelet",
                object_kind="Pod",
                object_uid=uid,
                message=f'{said} "{image}"',
            )
            for number, (uid, said, image) in enumerate(
                [
                    ("done", "Successfully pulled image", "r.example/job:1"),
                    ("done", "Container image", "r.example/beside:1"),
                    ("gone", "Container image", "r.example/gone:1"),
                    ("running", "Container image", "r.example/used:1"),
                ]
            )
        ),
    )
    held = "r.example/beside:1, r.example/job:1"
    assert column(database, "image_gc", "held_images") == [f"{held}, unknown", None], "late has no Event"


def test_pull_loops_are_the_pulls_that_were_needed_again(database: Database) -> None:
    took = "in 2s (2s including waiting). Image size: 7 bytes."
    pulled = {"node": "n", "reason": "Pulled", "component": "kubelet", "object_kind": "Pod"}
    pulls = [
        row(
            NodeEvent,
            ts=T0 + timedelta(hours=hour),
            name=str(hour),
            message=f'Successfully pulled image "{image}" {took}',
            **pulled,
        )
        for hour, image in enumerate(["loop", "loop", "loop", "once"])
    ]
    store(database, *pulls)
    assert column(database, "pull_loops", "image") == ["loop"]
    assert column(database, "pull_loops", "pulls") == [3]
    assert column(database, "pull_loops", "by_unknown") == [2]
    assert column(database, "pull_loops", "image_bytes_again") == [14]
    assert column(database, "pull_loops", "seconds_again") == [4]
    assert column(database, "pull_loops", "image", again="3") == []
    assert column(database, "pull_loops", "image", since="2026-07-01T14:00:00Z") == []


def test_the_timeline_shows_one_node_in_order(database: Database) -> None:
    store(
        database,
        row(PressureChange, ts=T0 + timedelta(seconds=2), node="n", condition="DiskPressure", status=True),
        row(Eviction, ts=T0 + timedelta(seconds=3), node="n", cause="pressure"),
        row(NodeEvent, ts=T0 + timedelta(seconds=1), node="n", reason="EvictionThresholdMet"),
        row(NodeEvent, ts=T0, node="other", reason="Starting"),
    )
    assert column(database, "story", "kind", node="n") == ["pressure", "eviction"]
    assert column(database, "story", "kind", node="n", all="1") == ["event", "pressure", "eviction"]
    assert column(database, "story", "kind", since="2026-07-01T12:00:03Z") == ["eviction"]


def test_the_next_eviction_stands_beside_its_threshold(database: Database) -> None:
    store(
        database,
        row(PodBinding, ts=T0, change="bound", node="n", pod="p", uid="u"),
        row(EvictionSignal, node="n", signal="memory.available", available=5, hard_threshold=3),
    )
    pods = [{"pod": "p", "uid": "u", "memory_working_set_bytes": 1}]
    store_samples(database, summary(T0, "n", pods, memory_available_bytes=5, memory_working_set_bytes=9))
    assert column(database, "next_eviction", "pod") == ["p"]
    assert column(database, "next_eviction", "hard_threshold") == [3]


def test_next_eviction_has_a_line_a_node_with_the_nearest_signal_first(database: Database) -> None:
    """Node n meets memory in 50 s, its disk in 90 s, and frees images before another; m is over its disk's threshold,
    and q nears nothing.
    """
    at: dict[str, Any] = {"capacity": 1000, "available": 400, "hard_threshold": 100}
    store(
        database,
        *(row(PodBinding, ts=T0, change="bound", node=node, pod=f"p-{node}", uid=node) for node in "nmq"),
        row(PodBinding, ts=T0, change="bound", node="n", pod="p2", uid="n2"),
        row(EvictionSignal, node="n", signal="memory.available", seconds_to_hard=50, **at),
        row(EvictionSignal, node="n", signal="nodefs.available", seconds_to_hard=90, **at),
        row(EvictionSignal, node="m", signal="nodefs.available", **{**at, "available": 90}, hard_met=True),
        row(EvictionSignal, node="q", signal="nodefs.available", **at),
        row(EvictionSignal, node="q", signal="memory.available", **{**at, "available": 300, "hard_threshold": None}),
        row(EvictionSignal, node="n", signal="imagefs.available", seconds_to_hard=10, gc_first=True, **at),
    )
    for minute, used in ((0, 100), (5, 400)):
        pods = [
            {"pod": "p-n", "uid": "n", "memory_working_set_bytes": used},
            {"pod": "p2", "uid": "n2", "memory_working_set_bytes": 1},
        ]
        memory = {"memory_available_bytes": 5, "memory_working_set_bytes": 9}
        store_samples(database, summary(T0 + timedelta(minutes=minute), "n", pods, **memory))
    assert column(database, "next_eviction", "node") == ["m", "n", "q"]
    assert column(database, "next_eviction", "signal") == ["nodefs.available", "memory.available", "nodefs.available"]
    assert column(database, "next_eviction", "room") == [-10, 300, 300]
    assert column(database, "next_eviction", "seconds_to_threshold") == [0, 50, None]
    for of_pod in ("rank", "request", "exceeds_request", "priority"):
        assert column(database, "next_eviction", of_pod, node="q") == [None], "nobody was seen using anything there"
    assert column(database, "next_eviction", "pod", node="n") == ["p-n"]
    assert column(database, "next_eviction", "growth_per_hour", node="n") == [3600]
    assert column(database, "next_eviction", "pod", node="n", depth="0") == ["p-n", "p2"]
    assert column(database, "next_eviction", "signal", node="q", signal="all") == [
        "nodefs.available",
        "memory.available",
    ]


def test_pressure_history_has_a_row_an_episode_with_its_own_length(database: Database) -> None:
    """Calm for 40 s lies between two episodes; the second goes on until the last sample."""
    changes = [(10, True, None), (70, False, 60.0), (110, True, 40.0)]
    for second, status, lasted in changes:
        at = {"ts": T0 + timedelta(seconds=second), "condition": "MemoryPressure", "node": "n"}
        store(database, row(PressureChange, status=status, lasted_seconds=lasted, **at))
    # its beginning was seen before the first change that was stored
    store(
        database,
        row(
            PressureChange,
            ts=T0 + timedelta(seconds=5),
            node="m",
            condition="DiskPressure",
            status=False,
            lasted_seconds=3.0,
        ),
    )
    store_samples(database, summary(T0 + timedelta(seconds=130), "n"))
    begun: list[Any] = column(database, "pressure_history", "began_at")
    assert [(at - T0).total_seconds() for at in begun] == [2, 10, 110]
    assert column(database, "pressure_history", "lasted_seconds") == [3, 60, 20]
    assert column(database, "pressure_history", "ended_at")[-1] is None
    since = "2026-07-01T12:01:20Z"
    assert column(database, "pressure_history", "lasted_seconds", since=since) == [20]
    assert column(database, "pressure_history", "lasted_seconds", until="2026-07-01T12:00:10Z") == [3]


def test_an_episode_of_pressure_shows_whether_images_were_enough_or_pods_were_evicted(database: Database) -> None:
    """Images of 60 bytes are deleted on `spared`, where 5 were left. `hit` loses pods for two resources."""
    for node, condition in (("spared", "DiskPressure"), ("hit", "MemoryPressure")):
        changed = {"node": node, "condition": condition}
        store(
            database,
            row(PressureChange, ts=T0 + timedelta(seconds=60), status=True, **changed),
            row(PressureChange, ts=T0 + timedelta(seconds=400), status=False, lasted_seconds=340.0, **changed),
        )
    evicted = {"node": "hit", "cause": "pressure"}
    store(
        database,
        row(Eviction, ts=T0 + timedelta(seconds=59), resource="memory", uid="1", **evicted),
        row(Eviction, ts=T0 + timedelta(seconds=70), resource="ephemeral-storage", uid="2", **evicted),
        row(Eviction, ts=T0 + timedelta(seconds=500), resource="memory", uid="3", **evicted),
    )
    for second, left, images in ((0, 10, 80), (30, 5, 90), (80, 65, 30), (500, 1, 99)):
        at = T0 + timedelta(seconds=second)
        store_samples(database, summary(at, "spared", nodefs_available_bytes=left, imagefs_used_bytes=images))
        store_samples(database, summary(at, "hit", memory_available_bytes=100 + left))
    columns = ("evicted_pods", "lowest_available_bytes", "last_available_bytes", "images_freed_bytes")
    assert [column(database, "pressure_history", name, node="spared") for name in columns] == [[0], [5], [65], [60]]
    assert [column(database, "pressure_history", name, node="hit") for name in columns] == [[1], [105], [165], [None]]


def test_evicted_pods_layers_are_no_deleted_images_and_count_in_one_episode(database: Database) -> None:
    """Two episodes 20 s apart. A pod with a layer of 40 bytes goes in the first; 100 in use were 60 of images."""
    for began, ended in ((0, 300), (320, 620)):
        of = {"node": "n", "condition": "DiskPressure"}
        store(
            database,
            row(PressureChange, ts=T0 + timedelta(seconds=began), status=True, **of),
            row(PressureChange, ts=T0 + timedelta(seconds=ended), status=False, lasted_seconds=300.0, **of),
        )
    store(database, row(Eviction, ts=T0 + timedelta(seconds=290), node="n", cause="pressure", resource="", uid="1"))
    for second, used, layer in ((10, 100, 40), (295, 60, 0), (330, 60, 0)):
        pods = [{"namespace": "ns", "pod": "p", "uid": "1", "rootfs_used_bytes": layer}]
        at = T0 + timedelta(seconds=second)
        store_samples(database, summary(at, "n", pods, nodefs_available_bytes=second, imagefs_used_bytes=used))
    columns = ("evicted_pods", "images_freed_bytes", "lowest_available_bytes")
    assert [column(database, "pressure_history", name) for name in columns] == [[1, 0], [0, 0], [10, 330]]


def test_a_limit_keeps_the_newest_rows_of_an_answer_in_the_order_of_time(database: Database) -> None:
    store(
        database,
        *(row(Eviction, ts=T0 + timedelta(seconds=at), node="n", cause="limit", uid=str(at)) for at in range(9)),
    )
    found = run(database, saved_query("evicted_pods"), {}, LIMITS)
    times = [dict(zip(found.column_names, each, strict=True))["ts"] for each in found.rows]
    assert times == sorted(times, reverse=True)
    assert len(times) == 9


@pytest.mark.parametrize("query", ALL, ids=lambda query: query.name)
def test_what_is_in_the_order_of_time_is_asked_of_a_range(
    query: SavedQuery, on_nothing: dict[str, OnNothing]
) -> None:
    times = {parameter.name for parameter in query.parameters} & {"since", "until"}
    assert times == ({"since", "until"} if query.newest else times)
    assert len(times) != 1
    assert set(query.shows) <= set(on_nothing[query.name].found.column_names)


def test_gaps_between_samples_are_found(database: Database) -> None:
    store_samples(database, *(summary(T0 + timedelta(seconds=s), "n") for s in (0, 10, 100, 110)))
    assert column(database, "sample_gaps", "gap_seconds") == [90]
    assert column(database, "sample_gaps", "gap_seconds", seconds="10") == [10, 90, 10]


def test_uncertain_counts_are_listed_with_what_is_certain(database: Database) -> None:
    store(
        database,
        row(NodeEvent, node="n", name="a", reason="Evicted", occurrences=3, occurrences_lower_bound=True),
        row(NodeEvent, node="n", name="b", reason="Evicted", occurrences=1),
        row(NodeEvent, node="n", name="c", reason="Starting", occurrences=1),
    )
    assert column(database, "events", "occurrences", uncertain="1") == [4]
    assert column(database, "events", "states_uncertain", uncertain="1") == [1]


def test_changes_of_allocatable_are_reported_and_heartbeats_are_not(database: Database) -> None:
    for second, cpu in enumerate((1000, 1000, 2000)):
        store(
            database, row(NodeRow, ts=T0 + timedelta(seconds=second), node="n", allocatable={"cpu": cpu, "memory": 7})
        )
    assert column(database, "allocatable_changes", "allocatable_before") == [{"cpu": 1000}], "memory is as it was"
    assert column(database, "allocatable_changes", "ts") == [T0 + timedelta(seconds=2)]


def test_requests_of_living_pods_that_are_missing_exceeded_or_unused_are_found(database: Database) -> None:
    asked = {"none": 0, "idle": 100, "busy": 100, "over": 80, "gone": 0}
    for pod, memory in asked.items():
        given = {
            "node": "n",
            "pod": pod,
            "uid": pod,
            "memory_request_bytes": memory,
            "cpu_request_millicores": memory,
        }
        store(database, row(PodBinding, change="bound", eviction_memory_request_bytes=memory, **given))
    store(database, row(PodBinding, change="deleted", node="n", pod="gone", uid="gone"))
    store(database, row(EvictionSignal, node="n", signal="memory.available"))
    used = {"none": 5, "idle": 10, "busy": 90, "over": 90}
    pods = [{"pod": pod, "uid": pod, "memory_working_set_bytes": amount} for pod, amount in used.items()]
    store_samples(database, summary(T0, "n", pods, memory_available_bytes=5, memory_working_set_bytes=200))
    assert column(database, "requests", "pod", verdict="none") == ["none", "none"]
    assert column(database, "requests", "resource", verdict="none") == ["memory", "cpu"]
    assert column(database, "requests", "pod", verdict="exceeded") == ["over", "none"]
    assert column(database, "requests", "used", verdict="exceeded") == [90, 5]
    assert column(database, "requests", "pod", verdict="unused") == ["idle"]
    assert column(database, "requests", "pod", verdict="unused", ratio="1") == ["idle", "busy"]


def test_forecasts_are_summed_up_by_how_far_they_looked(database: Database) -> None:
    def signal(seconds: int, to_hard: float | None, *, met: bool = False) -> EvictionSignal:
        at = T0 + timedelta(seconds=seconds)
        return row(EvictionSignal, ts=at, node="n", signal="s", seconds_to_hard=to_hard, hard_met=met)

    store(database, signal(0, 500.0), signal(400, 50.0), signal(440, 8.0), signal(450, None, met=True))
    assert column(database, "prediction_accuracy", "forecasts") == [2, 1]
    # 500 s forecast, met after 450: 50 s off; 50 and 8 s forecast, met after 50 and 10.
    assert column(database, "prediction_accuracy", "p90_error_seconds") == [2.0, 50.0]


def test_disk_that_no_pod_explains_is_found(database: Database) -> None:
    pods = [{"pod": "p", "uid": "u", "rootfs_used_bytes": 10, "logs_used_bytes": 5, "volumes_used_bytes": 5}]
    store_samples(database, summary(T0, "n", pods, nodefs_used_bytes=100))
    assert column(database, "disk_growth", "used_bytes", kind="outside_pods") == [80]
    assert column(database, "disk_growth", "pods_ratio", kind="outside_pods") == [0.2]


def test_fit_reports_ratios_of_allocatable(database: Database) -> None:
    store(database, row(NodeFit, node="n", resource="cpu", allocatable=1000, requested=250, used=500, free=750))
    store(database, row(NodeFit, node="n", resource="gpu", allocatable=0))
    assert column(database, "fit", "requested_ratio") == [0.25, None]
    assert column(database, "fit", "used_ratio", resource="cpu") == [0.5]


def test_dead_letters_say_where_one_lay(database: Database) -> None:
    store(database, row(DeadLetter, source="/tmp/a", position="/tmp/a:7", error_type="not_json", payload="x"))  # noqa: S108
    assert column(database, "dead_letters", "example_at") == ["/tmp/a:7"]  # noqa: S108


def test_queries_are_shipped_beside_the_module() -> None:
    assert Path(QUERIES).is_dir()
