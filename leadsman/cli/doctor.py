"""`leadsman doctor`: finds problems, and the command that fixes each."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from common.text import argument, plain
from leadsman.cli import options
from leadsman.cli.exits import EXIT_NOT_SEEN, EXIT_WRONG, MESSAGE

if TYPE_CHECKING:
    from leadsman.run.doctor import Diagnosis

WIDTH: Final = 80
_MARKS: Final = {"ok": "ok      ", "wrong": "WRONG   ", "unknown": "unknown "}
_INDENT: Final = " " * 8
_COMMAND: Final = re.compile(r"(?:^|(?<=: ))leadsman (validate|migrate|query|up)\b")
_CONFIGURED: Final = frozenset({"validate", "up"})


@click.command("doctor", epilog="Examples: leadsman doctor; leadsman doctor --config leadsman.yaml -o json")
@options.output
@options.config
@options.kafka_if_any
@options.live_db
def command(form: str, config: Path | None, kafka: str | None, db: str | None) -> None:
    """Check everything that Leadsman needs. Print each problem and the command that fixes it.

    It checks permissions, Kafka and its topics, the schema, clocks, versions, disks, the age of each stream, and
    /readyz of parts on this machine. It changes nothing. The exit status is 1 if something is wrong, and 16 if
    something could not be checked.
    """
    import asyncio

    from leadsman.cli.database import called_as
    from leadsman.cli.live import live_settings
    from leadsman.cli.present.tables import raw_rows, show
    from leadsman.run.doctor import Diagnosis, diagnose

    settings = live_settings(config, kafka=kafka, db=db)
    flags = {"--config": config and str(config), "--kafka": kafka}
    given = "".join(f" {name} {argument(value)}" for name, value in flags.items() if value)
    typed = partial(_typed, called_as(settings.db.get_secret_value()), given)
    found = [each._replace(mend=typed(each.mend)) for each in asyncio.run(diagnose(settings))]
    found.sort(key=lambda each: ("wrong", "unknown", "ok").index(each.state))
    if form in options.FOR_PEOPLE:
        for each in found:
            click.echo(shown(each))
    else:
        show(raw_rows(Diagnosis._fields, found), form)
    click.get_current_context().exit(status(found))


def status(found: Sequence[Diagnosis]) -> int:
    states = {each.state for each in found}
    return EXIT_WRONG if "wrong" in states else EXIT_NOT_SEEN if "unknown" in states else 0


def shown(each: Diagnosis) -> str:
    """Format lines of at most 80 columns, except commands, which people copy."""
    line = plain(f"{_MARKS[each.state]}{each.what}: {each.detail}", MESSAGE)
    text = textwrap.fill(line, WIDTH, subsequent_indent=_INDENT, break_on_hyphens=False)
    return f"{text}\n{_INDENT}> {plain(each.mend, MESSAGE)}" if each.mend else text


def _typed(program: str, given: str, mend: str) -> str:
    """Add the checked database and settings to each Leadsman command, so that it can be copied."""
    return _COMMAND.sub(lambda found: f"{program} {found[1]}{given if found[1] in _CONFIGURED else ''}", mend)
