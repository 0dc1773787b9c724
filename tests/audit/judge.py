"""Judges pip-audit's findings and the age of its advisories. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

KNOWN: Final = ("jinja2", "3.1.2", "GHSA-h75v-3vvj-5mfj")
"""Advisories that do not know this one are no basis for a verdict."""
TOO_OLD: Final = timedelta(days=3)
"""New advisories about packages of PyPI come every day."""
CLEAN: Final = 0
VULNERABLE: Final = 1
NOT_AUDITED: Final = 2


class Verdict(NamedTuple):
    status: int
    lines: Sequence[str]


def judged(found: Mapping[str, Any], known: Mapping[str, Any], as_of: datetime, now: datetime) -> Verdict:
    """`found` and `known` are pip-audit's JSON of the locks and of KNOWN; `as_of` is when the advisories were last
    renewed.
    """
    age = now - as_of
    name, version, advisory = KNOWN
    if advisory not in {each for entry in known["dependencies"] for each in _ids(entry)}:
        return _not_audited(f"the service does not know {advisory} of {name} {version}")
    if age > TOO_OLD:
        return _not_audited(f"the newest advisories are of {as_of:%Y-%m-%d}, {age.days} days old")
    if not found["dependencies"]:
        return _not_audited("nothing is locked")
    if skipped := [each["name"] for each in found["dependencies"] if "skip_reason" in each]:
        return _not_audited(f"{', '.join(skipped)} could not be looked up")
    lines = [line for entry in found["dependencies"] for line in _lines(entry)]
    hours = age.total_seconds() / 3600
    summary = (
        f"audit: {len(lines)} known vulnerabilities in {len(found['dependencies'])} locked versions, by advisories "
        f"of {as_of:%Y-%m-%d %H:%M} UTC ({hours:.1f} hours old)"
    )
    return Verdict(VULNERABLE if lines else CLEAN, [*lines, summary])


def _not_audited(why: str) -> Verdict:
    return Verdict(NOT_AUDITED, [f"audit: NOT AUDITED: {why}"])


def _ids(entry: Mapping[str, Any]) -> list[str]:
    return [name for vulnerability in entry.get("vulns", ()) for name in _names(vulnerability)]


def _names(vulnerability: Mapping[str, Any]) -> list[str]:
    return [vulnerability["id"], *vulnerability["aliases"]]


def _lines(entry: Mapping[str, Any]) -> list[str]:
    return [
        f"audit: {entry['name']} {entry['version']}: {' '.join(_names(each))}. "
        f"Fixed in {', '.join(each['fix_versions']) or 'no version yet'}"
        for each in entry["vulns"]
    ]
