"""An operator sets the retention of a server over HTTP, and a disk fills before it is over."""

from datetime import timedelta
from typing import Final

import pytest
from structlog.testing import capture_logs

from components.clickhouse import ClickHouseHttp
from components.command import succeeds
from components.rows import T0, row, store
from sql.database.open import Database, connect
from sql.schema import upkeep
from sql.schema.retention import KEPT
from sql.schema.upkeep import Upkeep
from streams.fold.findings import SourceError

AT_FIRST: Final = {"samples": 7, "rollups": 90, "events": 90, "findings": 365}


def keep(server: ClickHouseHttp, days: dict[str, int]) -> list[str]:
    flags = [each for name, number in days.items() for each in (f"--keep-{name}-days", str(number))]
    return succeeds("migrate", *flags, db=server.dsn()).splitlines()


def ttls(database: Database) -> dict[str, str]:
    """Return the TTL of each table that has one, as the engine wrote it down."""
    found = database.query(
        "SELECT name, extract(create_table_query, 'TTL (.*?) SETTINGS') FROM system.tables "
        "WHERE database = currentDatabase() AND create_table_query LIKE '% TTL %'"
    )
    return dict(found.rows)


def wanted(days: dict[str, int]) -> dict[str, str]:
    return {
        table: f"landed_at + toIntervalDay({days[kept.name]})"
        for kept in KEPT
        for table in kept.tables
        if days[kept.name]
    }


def test_each_keep_flag_sets_changes_and_removes_the_ttl_of_its_tables(clickhouse: ClickHouseHttp) -> None:
    assert keep(clickhouse, {}) == ["applied 0001_baseline"]
    with connect(clickhouse.dsn()) as database:
        assert ttls(database) == wanted(AT_FIRST)
        for days in (
            {"samples": 3, "rollups": 4, "events": 5, "findings": 6},
            {"findings": 30},
            {"samples": 0, "findings": 0},
            {"events": 0, "rollups": 0, "findings": 1},
        ):
            before = ttls(database)
            lines = keep(clickhouse, days)
            assert lines[0] == "the schema is up to date"
            assert len(lines) == 1 + len(days)
            untouched = {table for kept in KEPT if kept.name not in days for table in kept.tables}
            now = ttls(database)
            assert {table: ttl for table, ttl in now.items() if table not in untouched} == {
                table: ttl for table, ttl in wanted({**AT_FIRST, **days}).items() if table not in untouched
            }
            assert {table: now.get(table) for table in untouched} == {table: before.get(table) for table in untouched}


def test_what_is_kept_no_longer_goes_and_what_is_kept_for_ever_stays(clickhouse: ClickHouseHttp) -> None:
    keep(clickhouse, {"findings": 0})
    with connect(clickhouse.dsn()) as database:
        old, young = (row(SourceError, ts=T0 + timedelta(hours=hour), error=f"{hour}") for hour in (1, 2))
        store(database, old)
        columns = ", ".join(SourceError._fields)
        database.command(
            f"INSERT INTO source_errors ({columns}, landed_at) SELECT {columns}, now() - INTERVAL 40 DAY "
            "FROM source_errors SETTINGS insert_allow_materialized_columns = 1"
        )
        database.command("DELETE FROM source_errors WHERE landed_at > now() - INTERVAL 30 DAY")
        store(database, young)

        def errors() -> list[str]:
            database.command("OPTIMIZE TABLE source_errors FINAL")
            return [error for (error,) in database.query("SELECT error FROM source_errors ORDER BY error").rows]

        assert errors() == ["1", "2"]
        keep(clickhouse, {"findings": 50})
        assert errors() == ["1", "2"]
        keep(clickhouse, {"findings": 30})
        assert errors() == ["2"]


def test_a_server_s_disk_that_fills_is_announced_before_it_is_full(
    clickhouse: ClickHouseHttp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine's own numbers of its disk decide: the low mark is set above its free space."""
    monkeypatch.setattr(upkeep, "renew", lambda _: None)
    with connect(clickhouse.dsn()) as database:
        kept = Upkeep(lambda: database)
        monkeypatch.setattr(upkeep, "LOW_PERCENT", 0)
        with capture_logs() as logs:
            kept.once(database)
        assert logs == []
        monkeypatch.setattr(upkeep, "LOW_PERCENT", 101)
        kept._logged.clear()
        with capture_logs() as logs:
            kept.once(database)
    ((disk, free),) = ((each["disk"], each["free_percent"]) for each in logs)
    assert disk == "default"
    assert 0 <= free <= 100
