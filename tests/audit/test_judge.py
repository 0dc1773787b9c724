"""The audit: what is a finding, and what is no verdict at all."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from audit.judge import CLEAN, KNOWN, NOT_AUDITED, VULNERABLE, judged

NOW = datetime(2026, 11, 23, 3, tzinfo=UTC)
AS_OF = NOW - timedelta(hours=2)


def report(*vulnerabilities: str, name: str = "jinja2", version: str = "3.1.2", **more: Any) -> dict[str, Any]:
    """Return the report in pip-audit's format."""
    vulns = [{"id": f"PYSEC-{each}", "fix_versions": ["9"], "aliases": [each]} for each in vulnerabilities]
    return {"dependencies": [{"name": name, "version": version, "vulns": vulns, **more}], "fixes": []}


IS_KNOWN = report(KNOWN[2])


def test_nothing_known_is_clean_and_the_age_of_what_is_known_is_in_the_output() -> None:
    verdict = judged(report(name="msgspec", version="0.22"), IS_KNOWN, AS_OF, NOW)
    assert verdict.status == CLEAN
    assert verdict.lines == [
        "audit: 0 known vulnerabilities in 1 locked versions, by advisories of 2026-11-23 01:00 UTC (2.0 hours old)"
    ]


def test_each_vulnerability_is_a_line_with_its_names_and_the_version_that_mends_it() -> None:
    verdict = judged(report("GHSA-1", "GHSA-2", name="x", version="1"), IS_KNOWN, AS_OF, NOW)
    assert verdict.status == VULNERABLE
    assert verdict.lines[:2] == [
        "audit: x 1: PYSEC-GHSA-1 GHSA-1. Fixed in 9",
        "audit: x 1: PYSEC-GHSA-2 GHSA-2. Fixed in 9",
    ]


@pytest.mark.parametrize(
    ("found", "known", "age", "why"),
    [
        (report(), report(), timedelta(0), "does not know GHSA-h75v-3vvj-5mfj of jinja2 3.1.2"),
        (report(), IS_KNOWN, timedelta(days=4), "4 days old"),
        ({"dependencies": []}, IS_KNOWN, timedelta(0), "nothing is locked"),
        (report(skip_reason="not found"), IS_KNOWN, timedelta(0), "jinja2 could not be looked up"),
    ],
)
def test_unjudged_input_is_not_called_clean(found: Any, known: Any, age: timedelta, why: str) -> None:
    verdict = judged(found, known, NOW - age, NOW)
    assert verdict.status == NOT_AUDITED
    assert verdict.lines[0].startswith("audit: NOT AUDITED: ")
    assert why in verdict.lines[0]
