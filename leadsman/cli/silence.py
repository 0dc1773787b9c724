"""`leadsman silence`: mutes alerts for a time."""

from __future__ import annotations

import getpass
import os
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import click

from leadsman.cli import options

if TYPE_CHECKING:
    from streams.alerting.silences import Silence

_EXAMPLES = "Examples: leadsman silence add alertname=NodeNotReady --for 2h --why maintenance; leadsman silence list"
_COLUMNS = ("id", "state", "matchers", "starts_at", "ends_at", "created_by", "comment")


@click.group("silence", context_settings={"show_default": True}, epilog=_EXAMPLES)
def command() -> None:
    """Silence alerts by their labels: they stay on the page and in the tables, but are not sent to receivers.

    The database stores silences. `leadsman up` always applies them, `leadsman alert` if its settings name a database.
    """


@command.command(
    "add",
    epilog="Examples: leadsman silence add alertname=NodeNotReady 'node=~worker-[0-9]+' --for 2h --why 'new kernel'; "
    "leadsman silence add cluster=lab --for 30m --why 'move to another rack'",
)
@click.argument("labels", metavar="MATCHER...", nargs=-1, required=True)
@click.option("--for", "for_seconds", type=options.duration, metavar="TIME", help="How long, for example 30m or 2h.")
@click.option("--start", type=options.time, metavar="TIME", help="Start; by default now.")
@click.option("--until", type=options.time, metavar="TIME", help="End, instead of --for.")
@click.option("--why", required=True, metavar="TEXT", help="The reason, for other readers.")
@click.option("--who", metavar="NAME", help="Author; by default your user name.")
@options.db
def add(
    *,
    labels: Sequence[str],
    for_seconds: float | None,
    start: datetime | None,
    until: datetime | None,
    why: str,
    who: str | None,
    db: str,
) -> None:
    """Create a silence, and print its id.

    MATCHER is label=value, label!=value, or with a regular expression label=~value, label!~value, which must match
    the whole label. An alert must match all of them; a label that it lacks counts as empty.
    """
    from common.clock import SYSTEM
    from leadsman.run.silences import ask
    from sql.landing.silences import Add
    from streams.alerting.silences import BadSilence, Silence, matchers

    if (for_seconds is None) == (until is None):
        raise click.UsageError("give an end: --for 2h, or --until TIME")
    now = SYSTEM.now()
    starts_at = start or now
    ends_at = until or starts_at + timedelta(seconds=for_seconds or 0.0)
    if ends_at <= max(now, starts_at):
        raise BadSilence("the silence would end before it starts, or in the past: give a later --until")
    silence = Silence(secrets.token_hex(8), matchers(labels), starts_at, ends_at, who or this_user(), why, now)
    ask(db, Add(silence))
    click.echo(silence.id)


def this_user() -> str:
    """Return who runs this command; the user of a container can be a number without a name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


@command.command("list", epilog="Example: leadsman silence list --all -o json")
@click.option("--all", "every", is_flag=True, help="Also list expired silences.")
@options.output
@options.db
def show_all(*, every: bool, form: str, db: str) -> None:
    """List current and future silences, the one that ends last first."""
    from common.clock import SYSTEM
    from leadsman.cli.present.tables import raw_rows, show
    from leadsman.run.silences import ask
    from sql.landing.silences import List

    now = SYSTEM.now()
    rows = [
        (each.id, each.state(now), *_shown(each)) for each in ask(db, List()) if every or each.state(now) != "expired"
    ]
    show(raw_rows(_COLUMNS, rows), form, "no alert is silenced")


@command.command("expire", epilog="Example: leadsman silence expire 5f0c9a7e21b3d844")
@click.argument("name", metavar="ID")
@options.db
def expire(*, name: str, db: str) -> None:
    """End a silence now; the first digits of its id are enough."""
    from common.clock import SYSTEM
    from leadsman.run.silences import ask
    from sql.landing.silences import Expire

    (ended,) = ask(db, Expire(name, SYSTEM.now()))
    click.echo(ended.id)


def _shown(silence: Silence) -> tuple[object, ...]:
    every = " ".join(map(str, silence.matchers))
    return every, silence.starts_at, silence.ends_at, silence.created_by, silence.comment
