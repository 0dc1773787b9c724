"""The audit of kept advisories: what is a finding."""

from typing import Any

import pytest

from audit.judge import advisories, findings, locked

LOCK = """
jinja2==3.1.6 \\
    --hash=sha256:1234
numpy==2.4.6 ; python_full_version < '3.12' \\
    --hash=sha256:5678
numpy==2.5.5 ; python_full_version >= '3.12'
Typing_Extensions==4.16.0
"""


def entry(affected: str) -> dict[str, Any]:
    return {"v": affected, "id": "GHSA-1", "cve": "CVE-1", "advisory": "a hole", "fixed_in": "9"}


def test_every_locked_version_is_looked_at() -> None:
    assert locked(LOCK) == {
        ("jinja2", "3.1.6"),
        ("numpy", "2.4.6"),
        ("numpy", "2.5.5"),
        ("typing-extensions", "4.16.0"),
    }


@pytest.mark.parametrize(
    ("affected", "version", "found"),
    [
        ("<3.1.5", "3.1.4", True),
        ("<3.1.5", "3.1.5", False),
        (">=3.0.0,<3.1.5", "2.9", False),
        ("<3.1.5", "3.1.4rc1", True),
        ("<=2", "2", True),
        ("of all planets", "1", True),
    ],
)
def test_a_version_in_the_affected_range_is_a_finding(affected: str, version: str, found: bool) -> None:
    known = advisories({"Jinja2": [entry(affected)]})
    assert [each.version for each in findings({("jinja2", version)}, known)] == ([version] if found else [])


def test_advisories_about_other_packages_are_none() -> None:
    assert findings({("jinja2", "1")}, advisories({"jinja": [entry("<9")]})) == []
