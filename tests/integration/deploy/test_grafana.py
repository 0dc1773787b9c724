"""The Grafana dashboards: every panel's SQL runs on the real engine, over two captures and over nothing.

The macros are expanded as the ClickHouse data source documents them (its "Query editor", "Macros"), variables as
Grafana's `sqlstring` format does.
"""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
import yaml

from paths import ROOT
from sql.database.open import Database, Result, connect

GRAFANA: Final = ROOT / "deploy" / "grafana"
BOARDS: Final[dict[str, dict[str, Any]]] = {
    file.stem: json.loads(file.read_text("utf-8")) for file in sorted((GRAFANA / "dashboards").glob("*.json"))
}
MAY_BE_EMPTY: Final = {
    ("leadsman-node", "Eviction order now"),
    ("leadsman-numa", "Pods that were not admitted"),
    ("leadsman-scheduler", "Verdicts and their evidence"),
}
"""The captures hold nothing of the kind: the first ends with every pod gone, and both schedulers see all nodes."""


class View(NamedTuple):
    """Panels that a reader looks at."""

    cluster: str
    node: str
    since: datetime
    until: datetime


VIEWS: Final = (
    View("lab", "real-node-1", datetime(2026, 11, 21, 4, tzinfo=UTC), datetime(2026, 11, 21, 5, tzinfo=UTC)),
    View("late-joiners", "node-3", datetime(2026, 3, 10, 7, tzinfo=UTC), datetime(2026, 3, 10, 9, tzinfo=UTC)),
)
HOSTILE: Final = View("it's", "x' OR 1=1 --", VIEWS[0].since, VIEWS[0].until)


class Panel(NamedTuple):
    board: str
    title: str
    kind: str
    sql: str
    series: bool


def panels() -> list[Panel]:
    return [
        Panel(name, panel["title"], panel["type"], target["rawSql"], target["queryType"] == "timeseries")
        for name, board in BOARDS.items()
        for panel in board["panels"]
        for target in panel["targets"]
    ]


def variables() -> list[tuple[str, str]]:
    return [
        (name, variable["query"])
        for name, board in BOARDS.items()
        for variable in board["templating"]["list"]
        if variable["type"] == "query"
    ]


def expanded(sql: str, view: View, seconds: int = 60) -> str:
    """The statement that reaches the server."""
    since, until = (f"toDateTime({int(at.timestamp())})" for at in (view.since, view.until))
    for name, value in (("cluster", view.cluster), ("node", view.node)):
        sql = sql.replace(f"${{{name}:sqlstring}}", "'" + value.replace("'", "''") + "'")
    sql = re.sub(r"\$__timeFilter\((\w+)\)", rf"\1 >= {since} AND \1 <= {until}", sql)
    sql = re.sub(r"\$__timeInterval\((\w+)\)", rf"toStartOfInterval(toDateTime(\1), INTERVAL {seconds} second)", sql)
    assert "$" not in sql, sql
    return sql


@pytest.fixture(scope="module")
def recorded(demo_folder: Path) -> Iterator[Database]:
    """Both captures; a module's, for a process opens one folder at a time."""
    with connect(f"chdb://{demo_folder}", make=False, read_only=True) as db:
        yield db


def times(found: Result) -> list[str]:
    return [kind for kind in found.column_types if kind.startswith(("DateTime", "LowCardinality(DateTime"))]


@pytest.mark.parametrize("panel", panels(), ids=lambda panel: f"{panel.board}: {panel.title}")
def test_every_panel_answers_of_a_recording(recorded: Database, panel: Panel) -> None:
    found = [recorded.query(expanded(panel.sql, view)) for view in VIEWS]
    for each in found:
        assert each.column_names
        if panel.series:
            assert each.column_names[0] == "time"
            assert times(each)
    if (panel.board, panel.title) not in MAY_BE_EMPTY:
        assert any(each.rows for each in found)


@pytest.mark.parametrize("panel", panels(), ids=lambda panel: f"{panel.board}: {panel.title}")
def test_a_name_is_a_value_and_never_sql(recorded: Database, panel: Panel) -> None:
    rows = recorded.query(expanded(panel.sql, HOSTILE)).rows
    assert panel.kind == "stat" or list(rows) == []
    assert all(value in {0, None} for row in rows for value in row)


def test_every_variable_lists_values(recorded: Database) -> None:
    for board, sql in variables():
        values = {row[0] for row in recorded.query(expanded(sql, VIEWS[0])).rows}
        assert values in ({"lab", "late-joiners"}, {"real-node-1"}), board


@pytest.mark.parametrize("name", BOARDS)
def test_a_dashboard_is_whole(name: str) -> None:
    board = BOARDS[name]
    assert board["uid"] == name
    assert (board["timezone"], board["tags"]) == ("utc", ["leadsman"])
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids))
    for panel in board["panels"]:
        assert panel["title"]
        assert panel["datasource"] == {"type": "grafana-clickhouse-datasource", "uid": "${datasource}"}
        for target in panel["targets"]:
            assert target["format"] == (0 if target["queryType"] == "timeseries" else 1)


@pytest.mark.parametrize("name", BOARDS)
def test_panels_lie_within_the_grid_and_not_upon_each_other(name: str) -> None:
    places = [panel["gridPos"] for panel in BOARDS[name]["panels"]]
    for place in places:
        assert 0 <= place["x"] < place["x"] + place["w"] <= 24
    for one, other in combinations(places, 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        above = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or above, (name, one, other)


def test_links_lead_to_dashboards_that_are_there() -> None:
    text = json.dumps(BOARDS)
    assert set(re.findall(r"/d/([\w-]+)", text)) <= set(BOARDS)


def test_the_provisioned_source_and_folder_are_those_of_compose() -> None:
    source = yaml.safe_load((GRAFANA / "provisioning/datasources/leadsman.yaml").read_text())["datasources"][0]
    folder = yaml.safe_load((GRAFANA / "provisioning/dashboards/leadsman.yaml").read_text())["providers"][0]
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    grafana = services["grafana"]
    assert source["type"] == "grafana-clickhouse-datasource"
    assert source["type"] in grafana["environment"]["GF_PLUGINS_PREINSTALL_SYNC"]
    assert source["jsonData"]["host"] in services
    assert source["jsonData"]["username"] == services["clickhouse"]["environment"]["CLICKHOUSE_USER"]
    assert source["jsonData"]["defaultDatabase"] == services["clickhouse"]["environment"]["CLICKHOUSE_DB"]
    assert "CLICKHOUSE_PASSWORD" in grafana["environment"]
    mounted = dict(volume.split(":")[:2] for volume in grafana["volumes"] if volume.startswith("./"))
    assert mounted["./deploy/grafana/provisioning"] == "/etc/grafana/provisioning"
    assert mounted["./deploy/grafana/dashboards"] == folder["options"]["path"]
    assert all((ROOT / name).is_dir() for name in mounted)
