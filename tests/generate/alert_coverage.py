"""`sql/schema/views/alert_coverage.sql`: the inputs that each alert declares, as rows of the view."""

import re
from collections.abc import Iterator
from typing import Final

from paths import ROOT
from streams.alerting.definition import AnyAlert
from streams.alerting.rules_file import ALERTS

VIEW: Final = "sql/schema/views/alert_coverage.sql"
_NEEDS: Final = re.compile(r"(?<=arrayJoin\(\[\n).*?(?=\n +\]\) AS n)", re.DOTALL)
_INDENT: Final = " " * 16


def alert_coverage() -> str:
    """The view as it is, with the rows of today's alerts."""
    rows = ",\n".join(_INDENT + row for alert in ALERTS for row in _rows(alert))
    return _NEEDS.sub(lambda _: rows, (ROOT / VIEW).read_text("utf-8"), count=1)


def _rows(alert: AnyAlert) -> Iterator[str]:
    for need in alert.needs:
        yield f"({_text(alert.name)}, {_text(need.input)}, {need.required:d}, {_text(need.without_it)})"
    if not alert.needs:
        yield f"({_text(alert.name)}, '', 0, '')"


def _text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
