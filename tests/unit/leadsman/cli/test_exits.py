"""An error that the user can mend ends a command with one sentence and its status; any other is a defect."""

import click
import pytest
from click.testing import CliRunner

from common.errors import (
    BadRecord,
    ContextUnknown,
    CredentialsRefused,
    HeldElsewhere,
    KafkaUnusable,
    KubeconfigUnusable,
    SourceUnusable,
    WrongUsage,
)
from common.settings import SettingsError
from leadsman.cli.exits import STATUSES, mistake
from leadsman.cli.main import app
from leadsman.web.site.serve import CannotListen
from sql.database.errors import BadDsn, DatabaseHeld, DatabaseUnreachable, EngineMissing, QueryFailed, SchemaNewer


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (SettingsError("kafka.port: no such setting"), 2),
        (WrongUsage("write --to"), 2),
        (BadDsn("write chdb:"), 2),
        (EngineMissing("install it"), 2),
        (SourceUnusable("no such file"), 4),
        (HeldElsewhere("another process writes it"), 14),
        (FileNotFoundError("ca.crt"), 4),
        (PermissionError("ca.crt"), 4),
        (DatabaseUnreachable("no answer"), 5),
        (DatabaseHeld("process 3 holds it"), 14),
        (KubeconfigUnusable("set KUBECONFIG"), 10),
        (ContextUnknown("it has a, b"), 11),
        (CredentialsRefused("log in again"), 12),
        (SourceUnusable("no answer"), 4),
        (CannotListen("::1", 80, OSError(98, "Address already in use")), 13),
        (SchemaNewer("upgrade"), 6),
        (QueryFailed("refused"), 7),
        (KafkaUnusable("no answer"), 8),
    ],
)
def test_the_status_says_what_cannot_be_used(error: Exception, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert status in STATUSES
    done = CliRunner().invoke(_failing(error, monkeypatch), ["digest"])
    assert (done.exit_code, done.stdout, done.stderr) == (status, "", f"leadsman: {error}\n")


@pytest.mark.parametrize("error", [BadRecord("wrong_value", "a record"), KeyError("x"), ValueError("y")])
def test_a_defect_keeps_its_traceback(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    assert mistake(error) is None
    assert CliRunner().invoke(_failing(error, monkeypatch), ["digest"]).exception is error


def test_an_interrupt_ends_with_its_own_status(monkeypatch: pytest.MonkeyPatch) -> None:
    done = CliRunner().invoke(_failing(KeyboardInterrupt(), monkeypatch), ["digest"])
    assert (done.exit_code, done.stdout) == (130, "")
    assert done.stderr.startswith("leadsman: interrupted; ")


def test_a_hostile_message_is_one_line_without_control_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    done = CliRunner().invoke(_failing(SourceUnusable("node \x1b[31m\nred"), monkeypatch), ["digest"])
    assert done.stderr == "leadsman: node \\x1b[31m\\nred\n"


@pytest.mark.parametrize("words", [["--\x1b]0;t\x07"], ["validate", "\x1b]0;t\x07"], ["digest", "--\x1b[31m\u202e"]])
def test_a_hostile_word_that_a_shell_completed_steers_no_terminal(words: list[str]) -> None:
    done = CliRunner().invoke(app, words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "\\x1b" in done.stderr
    assert all(each.isprintable() for each in done.stderr.split("\n"))


@pytest.mark.parametrize("words", [[], ["silence"]], ids=["leadsman", "silence"])
def test_a_command_that_needs_another_prints_its_help_as_it_is(words: list[str]) -> None:
    runner = CliRunner()
    assert runner.invoke(app, words).stderr == runner.invoke(app, [*words, "--help"]).stdout


def _failing(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> click.Group:
    """The application, with a command that raises this."""

    @click.command("digest")
    def command() -> None:
        raise error

    monkeypatch.setattr(app, "get_command", lambda _context, _name: command)
    return app
