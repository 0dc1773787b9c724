"""`docs/alert-list.md`: every alert with its default severity and the first words of its runbook."""

from typing import Final

import yaml

from paths import ROOT
from streams.alerting.runbook import runbooks

_HEAD: Final = """# Alerts

Written by `make generate` from the defaults and the runbooks; do not edit. How to check an alert and what to do is in
its runbook, `streams/alerting/runbooks/<name>.md`. How alerts reach you: [Consume alerts](alerts.md).

| alert | severity | what it means |
|---|---|---|
"""


def alert_list() -> str:
    """The whole page, of the alerts in the order of the defaults."""
    settings = yaml.safe_load((ROOT / "streams/alerting/defaults.yaml").read_text("utf-8"))["alerts"]
    summaries = {name: runbook.summary.replace("|", "\\|") for name, runbook in runbooks().items()}
    return _HEAD + "".join(
        f"| `{name}` | {each['severity']} | {summaries[name]} |\n" for name, each in settings.items()
    )
