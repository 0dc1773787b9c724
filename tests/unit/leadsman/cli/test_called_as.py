"""Hints name a command that can be typed as it stands."""

import sys
from pathlib import Path

import pytest

from leadsman.cli.database import called_as

HERE = Path.cwd()


@pytest.mark.parametrize(
    ("dsn", "hint"),
    [
        ("chdb://leadsman-db", "leadsman"),
        ("leadsman-db", "leadsman"),
        (f"chdb://{HERE}/leadsman-db", "leadsman"),
        ("other", f"LEADSMAN_DB=chdb://{HERE}/other leadsman"),
        ("/a b", "LEADSMAN_DB='chdb:///a b' leadsman"),
        ("/a%20b#c", "LEADSMAN_DB=chdb:///a%2520b%23c leadsman"),
        ("chdb:///a?database=b%26c", "LEADSMAN_DB='chdb:///a?database=b%26c' leadsman"),
        ("http://u:hunter2@db:8123/x", "LEADSMAN_DB=DSN leadsman"),
    ],
)
def test_a_hint_names_a_database_that_is_not_the_default(
    monkeypatch: pytest.MonkeyPatch, dsn: str, hint: str
) -> None:
    monkeypatch.delenv("LEADSMAN_DB", raising=False)
    monkeypatch.setattr(sys, "argv", ["leadsman", "replay"])
    assert called_as(dsn) == hint


def test_a_server_from_the_environment_is_there_for_the_next_command(monkeypatch: pytest.MonkeyPatch) -> None:
    dsn = "http://u:hunter2@db:8123/x"
    monkeypatch.setenv("LEADSMAN_DB", dsn)
    monkeypatch.setattr(sys, "argv", ["leadsman", "replay"])
    assert called_as(dsn) == "leadsman"


@pytest.mark.parametrize(
    ("dsn", "hint"),
    [
        ("http://u:hunter2@other:8123/x", "LEADSMAN_DB=DSN leadsman"),
        ("chdb://leadsman-db", f"LEADSMAN_DB=chdb://{HERE}/leadsman-db leadsman"),
    ],
)
def test_a_database_that_is_not_the_one_of_the_environment_is_named(
    monkeypatch: pytest.MonkeyPatch, dsn: str, hint: str
) -> None:
    monkeypatch.setenv("LEADSMAN_DB", "http://u:hunter2@db:8123/x")
    monkeypatch.setattr(sys, "argv", ["leadsman", "replay"])
    assert called_as(dsn) == hint


def test_a_module_is_called_by_its_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEADSMAN_DB", raising=False)
    monkeypatch.setattr(sys, "argv", ["/x/leadsman/__main__.py", "replay"])
    assert called_as("leadsman-db") == f"{sys.executable} -m leadsman"
