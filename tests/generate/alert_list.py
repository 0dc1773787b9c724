"""`docs/alert-list.md`: every alert with its default severity and the first words of its runbook."""

from typing import Final

import yaml

from paths import ROOT
from streams.alerting.runbook import runbooks

_HEAD: Final = """# Alerts

`make generate` writes this page from the defaults and the runbooks; do not edit it. A runbook says how to check its
alert and what to do: `streams/alerting/runbooks/<name>.md`. [Receive alerts](alerts.md) describes how alerts reach
you.

| alert | severity | meaning |
|---|---|---|
"""


def alert_list() -> str:
    """The whole page, of the alerts in the order of the defaults."""
    settings = yaml.safe_load((ROOT / "streams/alerting/defaults.yaml").read_text("utf-8"))["alerts"]
    summaries = {name: runbook.summary.replace("|", "\\|") for name, runbook in runbooks().items()}
    return _HEAD + "".join(
        f"| `{name}` | {each['severity']} | {summaries[name]} |\n" for name, each in settings.items()
    )
