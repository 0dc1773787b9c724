"""`make generate`: write every file that is derived from the code. A test compares them with what is committed."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from generate.alert_coverage import VIEW, alert_coverage
from generate.alert_list import alert_list
from generate.chart import CHART, chart_values, commented_values
from generate.churn import churn
from generate.commands import commands
from generate.growth import growth
from generate.odd_files import PAGE as ODD_FILES
from generate.odd_files import odd_files
from generate.pictures import layers, observation
from generate.schemas import MODELS, schema
from generate.slack import PAGE as SLACK
from generate.slack import slack
from generate.soak import soak
from generate.tables import tables
from generate.view_columns import view_columns
from paths import ROOT

FILES: Final[Mapping[str, Callable[[], str]]] = {
    **{f"streams/kafka/schemas/{name}.json": partial(schema, name) for name in MODELS},
    VIEW: alert_coverage,
    "sql/schema/views/columns.json": view_columns,
    "docs/tables.md": tables,
    "docs/commands.md": commands,
    "docs/alert-list.md": alert_list,
    SLACK: slack,
    ODD_FILES: odd_files,
    f"{CHART}/README.md": chart_values,
    f"{CHART}/values.yaml": commented_values,
    "docs/churn.svg": churn,
    "docs/layers.svg": layers,
    "docs/growth.svg": growth,
    "docs/observation.svg": observation,
    "docs/soak.svg": soak,
}
"""The text of each generated file by its path; each may read those before it."""


def write() -> None:
    for path, text in FILES.items():
        (ROOT / path).write_text(text(), "utf-8")


if __name__ == "__main__":
    write()
