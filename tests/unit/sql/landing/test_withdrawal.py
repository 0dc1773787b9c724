"""Passes over a whole dump take back what passes over its parts concluded: in a real engine."""

import json
import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from components.captures import node, observed
from components.rows import T0, dicts, row, store
from ingest.files.sources import read_sources
from ingest.model.observation import Observed
from ingest.normalize.decode import decode
from leadsman.run.replay import replay
from leadsman.run.settings import Settings
from paths import TESTS
from sql.database.errors import SYNTAX, QueryFailed
from sql.database.open import Database, Result
from sql.landing.batches import DatabaseCheckpoints
from sql.landing.withdrawal import AT_ONCE, DatabaseRows
from streams.fold import passes
from streams.fold.findings import TABLES as TYPES
from streams.fold.findings import Eviction, PodEnd, Resize, Row, Watch, has_version, version
from streams.fold.passes import identity

CASE = TESTS / "field/cases/62-kubeadm-intends"
WHOLE = [each for each in sorted(CASE.iterdir()) if each.name != "facts.json"]
PART = [each for each in WHOLE if each.name != "asked.configz.json"]
"""Without its /configz, a node has the settings that kubeadm intends, and is below one of their thresholds."""
TABLES = "alerts", "kubelet_settings", "settings_warnings"


def read(database: Database, cluster: str, files: Iterable[Path]) -> None:
    replay(database, map(decode, read_sources([*files], cluster=cluster)), Settings())


def rows(database: Database, table: str, cluster: str) -> list[str]:
    found = dicts(database, f"SELECT * FROM {table} FINAL WHERE cluster = '{cluster}'")
    excluded = {"cluster", "fingerprint", "labels", "landed_at"}
    return sorted(repr({name: value for name, value in row.items() if name not in excluded}) for row in found)


def test_the_whole_takes_back_what_its_part_concluded_however_often_both_are_read(database: Database) -> None:
    read(database, "once", WHOLE)
    read(database, "often", PART)
    assert [table for table in TABLES if rows(database, table, "often") == rows(database, table, "once")] == []
    for _ in range(2):
        read(database, "often", WHOLE)
        for table in TABLES:
            assert rows(database, table, "once")
            assert rows(database, table, "often") == rows(database, table, "once")
        read(database, "often", PART)


def test_a_part_takes_nothing_back(database: Database) -> None:
    read(database, "often", WHOLE)
    before = {table: seen(database, table) for table in TABLES}
    read(database, "often", PART)
    assert all(before[table] <= seen(database, table) for table in TABLES)


UNDATED = [
    TESTS / "field/cases/02-topology-init-container/with-topology" / f"numa-01.{name}.json"
    for name in ("cpu_manager_state", "cpu_topology", "configz")
]
"""They have no time at all, so alone they are of the time of reading, years after the dump that they belong to."""


def test_what_a_part_concluded_at_the_time_of_reading_does_not_outlive_the_older_whole(database: Database) -> None:
    read(database, "once", [UNDATED[0].parent])
    assert rows(database, "numa_whatif", "once")
    for passes_before in (1, 2):
        read(database, "often", UNDATED)
        for _ in range(passes_before):
            read(database, "often", [UNDATED[0].parent])
            assert rows(database, "numa_whatif", "often") == rows(database, "numa_whatif", "once")


def test_a_whole_log_takes_back_what_its_end_concluded(database: Database, tmp_path: Path) -> None:
    """The end does not name the resource, so its line is another than in the whole."""
    said = ('attempting to reclaim" resourceName="memory"', 'pod is evicted successfully" pod="a/b"')
    lines = [
        f'I0106 12:44:17.{number}00000 1 eviction_manager.go:369] "Eviction manager: {text}'
        for number, text in enumerate(said)
    ]
    metadata = {"name": "n1", "uid": "u", "resourceVersion": "4", "creationTimestamp": "2025-01-06T10:00:00Z"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": metadata}
    for name, of in (("end", lines[1:]), ("whole", lines)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "n1.kubelet.log").write_text("\n".join(of))
    (tmp_path / "whole" / "n1.json").write_text(json.dumps(node))
    read(database, "once", [tmp_path / "whole"])
    read(database, "often", [tmp_path / "end"])
    assert rows(database, "kubelet_log", "often") != rows(database, "kubelet_log", "once")
    read(database, "often", [tmp_path / "whole"])
    for table in ("kubelet_log", "evictions", "pod_ends", "reclaims"):
        assert rows(database, table, "often") == rows(database, table, "once"), table


@pytest.mark.parametrize("row_type", [each for each in TYPES if has_version(each)], ids=lambda each: TYPES[each])
def test_a_row_has_the_version_that_its_table_computes(database: Database, row_type: type[Row]) -> None:
    table = TYPES[row_type]
    found = database.query(f"SELECT engine_full FROM system.tables WHERE name = '{table}'").rows[0][0]
    column = re.match(r"ReplacingMergeTree\((\w+)\)", found)
    assert column
    decides = {"actor": ("", "kubelet"), "time_known": (False, True)}
    decides |= {"cause": ("unknown", "pressure")} if row_type is Eviction else {}
    decides |= {"cause": ("kubelet_eviction", "own_limit")} if row_type is PodEnd else {}
    flags = [name for name in decides if name in get_type_hints(row_type)]
    some = [
        row(
            row_type,
            cluster=f"{number}",
            **{name: decides[name][number >> place & 1] for place, name in enumerate(flags)},
        )
        for number in range(2 ** len(flags))
    ]
    store(database, *some)
    is_time = isinstance(getattr(some[0], column[1], 0), datetime)
    number = f"toUnixTimestamp64Micro({column[1]})" if is_time else column[1]
    stored = database.query(f"SELECT {number} FROM {table} FINAL ORDER BY cluster").rows
    assert [value for (value,) in stored] == [version(each) for each in some]


def test_only_tables_that_compare_versions_have_one(database: Database) -> None:
    found = database.query("SELECT name FROM system.tables WHERE engine_full LIKE 'ReplacingMergeTree(%'").rows
    declared = {TYPES[each] for each in TYPES if has_version(each)}
    assert declared == {name for (name,) in found} & {*TYPES.values()}


def seen(database: Database, table: str) -> set[tuple[object, ...]]:
    return {*database.query(f"SELECT node, ts FROM {table} FINAL WHERE cluster = 'often'").rows}


def test_a_stream_of_the_cluster_keeps_all_rows_because_it_can_have_concluded_the_same(database: Database) -> None:
    read(database, "often", PART)
    store(database, row(Watch, cluster="often", resource="nodes"))
    before = {table: seen(database, table) for table in TABLES}
    read(database, "often", WHOLE)
    assert all(before[table] <= seen(database, table) for table in TABLES)


def test_a_stream_that_was_replayed_keeps_all_rows_too(database: Database) -> None:
    replay(database, map(decode, [stream("often")]), Settings())
    read(database, "often", PART)
    before = {table: seen(database, table) for table in TABLES}
    read(database, "often", WHOLE)
    assert all(before[table] <= seen(database, table) for table in TABLES)


def test_passes_that_are_too_many_to_remember_are_forgotten_and_keep_all_rows(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "MOST", 1)
    read(database, "often", PART)
    assert not any(DatabaseCheckpoints(database).load("often", "dump").values())
    monkeypatch.undo()
    before = {table: seen(database, table) for table in TABLES}
    for _ in range(2):
        read(database, "often", WHOLE)
        assert all(before[table] <= seen(database, table) for table in TABLES)


def stream(cluster: str) -> Observed:
    (found,) = observed([node("12:00:00", "n1") | {"cluster": cluster}])
    return found


class Restricted:
    """A server's database, whose name is none without quotes, and whose user has some rights."""

    embedded, holder = False, "the-lab"

    def __init__(self, *rights: str, answers: bool = True) -> None:
        self._rights = rights
        self._answers = answers

    def __str__(self) -> str:
        return "http://clickhouse/the-lab"

    def may(self, right: str) -> bool:
        if not self._answers or " ON `the-lab`." not in right:
            raise QueryFailed("Syntax error", SYNTAX)
        return right in self._rights

    def query(self, _: str, **__: bool) -> Result:
        return Result((), (), [("a@b",)])


@pytest.mark.parametrize(
    ("database", "may"),
    [
        (Restricted("ALTER DELETE ON `the-lab`.*"), True),
        (Restricted("ALTER DELETE ON `the-lab`.alerts", "ALTER DELETE ON `the-lab`.evictions"), True),
        (Restricted("ALTER DELETE ON `the-lab`.alerts"), False),
        (Restricted(answers=False), True),
    ],
    ids=["all", "each", "one", "before 24.11"],
)
def test_the_right_to_delete_is_asked_for_by_name(database: Any, may: bool) -> None:
    stored = DatabaseRows(database)
    if may:
        stored.check(["alerts", "evictions"])
        return
    with pytest.raises(QueryFailed, match=r"Nothing was changed\. GRANT ALTER DELETE ON `the-lab`\.\* TO `a@b`,"):
        stored.check(["alerts", "evictions"])


def test_a_pass_that_may_take_nothing_back_changes_nothing(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DatabaseRows, "check", refuse)
    read(database, "often", PART)
    before = (
        DatabaseCheckpoints(database).load("often", "dump"),
        {each: rows(database, each, "often") for each in TABLES},
    )
    with pytest.raises(QueryFailed):
        read(database, "often", WHOLE)
    after = (
        DatabaseCheckpoints(database).load("often", "dump"),
        {each: rows(database, each, "often") for each in TABLES},
    )
    assert after == before
    read(database, "other", WHOLE)


def refuse(*_: object) -> None:
    raise QueryFailed("no grant")


def test_more_rows_than_one_statement_can_name_are_taken_back_from_their_cluster_alone(database: Database) -> None:
    """ClickHouse reads 262,144 bytes of a statement by default: some 12,000 identities."""
    some = [row(Resize, cluster="it's", ts=T0 + timedelta(seconds=number)) for number in range(3 * AT_ONCE)]
    store(database, *some, some[0]._replace(cluster="other"))
    stored = DatabaseRows(database)
    names = stored.key("resizes")
    identities = {identity(getattr(each, name) for name in names) for each in some[1:]}
    of_other = identity(getattr(some[0]._replace(cluster="other"), name) for name in names)
    stored.withdraw("it's", "resizes", {*identities, of_other})
    left = database.query("SELECT cluster, ts FROM resizes FINAL ORDER BY cluster").rows
    assert left == [("it's", T0), ("other", T0)]
