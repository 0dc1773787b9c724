"""`docs/alert-list.md`: every alert with its default severity and the first words of its runbook."""

import re
from typing import Final

import yaml

from paths import ROOT

_FIRST_WORDS: Final = re.compile(r"^\*\*(.+?)\.?\*\*", re.MULTILINE | re.DOTALL)
_HEAD: Final = """# Alerts

Written by `make generate` from the defaults and the runbooks; do not edit. How to check an alert and what to do is in
its runbook, `deploy/runbooks/<name>.md`. How alerts reach you: [Consume alerts](alerts.md).

| alert | severity | what it means |
|---|---|---|
"""


def alert_list() -> str:
    """The whole page, of the alerts in the order of the defaults."""
    settings = yaml.safe_load((ROOT / "streams/alerting/defaults.yaml").read_text("utf-8"))["alerts"]
    return _HEAD + "".join(
        f"| `{name}` | {each['severity']} | {_first_words(name)} |\n" for name, each in settings.items()
    )


def _first_words(name: str) -> str:
    found = _FIRST_WORDS.search((ROOT / "deploy/runbooks" / f"{name}.md").read_text("utf-8"))
    if found is None:
        raise ValueError(f"the runbook of {name} does not begin with a bold sentence")
    return " ".join(found[1].split()).replace("|", "\\|")
