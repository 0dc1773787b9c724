"""Collects all commands, in the order in which users need them."""

import os
import re
import resource
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from common.errors import WrongUsage
from common.text import nearest, plain
from leadsman.cli.exits import EXIT_INTERRUPTED, EXITS, MESSAGE, fail, mistake

EXTRAS: Final[Mapping[str, str]] = {"google": "agent", "grpc": "agent"}
"""The extra of Leadsman that installs a package, by the package."""


_SURPLUS: Final = re.compile(r"Got unexpected extra arguments? \((.+)\)", re.DOTALL)
"""Click's message: the error itself names no word."""
_GIVEN: Final = "leadsman.given"
"""Key of the context's `meta` for the words of the command line: Click's message joins those that it names."""
MOST_FILES: Final = 65_536


def raise_file_limit() -> None:
    """Raise the limit of open files and connections as far as allowed; 1,024 is a common default."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_FILES if hard == resource.RLIM_INFINITY else min(MOST_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


SECTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "Your cluster": {
        "look": "Print what is wrong now in a cluster or in files",
        "up": "Watch the cluster of your kubeconfig, and show it live",
    },
    "Files": {
        "replay": "Analyse captures and dumps, and print what happened",
        "inspect": "Show what a capture or dump contains",
        "capture": "Record a live cluster to files, without secrets",
    },
    "Answers": {
        "query": "Run a saved question, or your own SQL",
        "fit": "Show which nodes can take a pod, and why others cannot",
        "report": "Write an incident as one HTML file",
        "serve": "Serve the report as a live, read-only page",
        "mcp": "Answer an assistant's questions, read-only",
    },
    "What if": {
        "backtest": "Show which alerts a rule set would have raised",
        "simulate-drain": "Show which pods a drain would move, refuse or end",
        "simulate-scheduler": "Show which nodes a scheduler would have overlooked",
    },
    "Live pipeline": {
        "watch": "Publish a cluster's changes and statistics to Kafka",
        "work": "Analyse the event stream in Kafka",
        "land": "Write Kafka messages to the database exactly once",
        "alert": "Deliver alerts to Alertmanager, Slack, PagerDuty, Teams",
        "silence": "Mute matching alerts until a given time",
        "agent": "Report a node's exclusive CPUs, memory and devices",
    },
    "Set up and maintain": {
        "config": "Print the current settings, or write a settings file",
        "validate": "Check the settings and try every connection",
        "doctor": "Find problems, with a command to fix each",
        "migrate": "Upgrade the schema; set how long rows are kept",
        "digest": "Print each table's row count and hash",
        "completion": "Print a completion script for your shell",
    },
}
"""The help text of each command, by heading and name."""
COMMANDS: Final = {name: line for section in SECTIONS.values() for name, line in section.items()}


def _without_colour(ctx: click.Context, param: click.Parameter, given: Any) -> None:
    del ctx, param
    if given:
        from leadsman.cli.console import out

        os.environ["NO_COLOR"] = "1"
        out.no_color = True


def no_color() -> click.Option:
    return click.Option(
        ["--no-color"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_without_colour,
        help="Print without colours, like NO_COLOR=1.",
    )


def _seen(error: click.ClickException) -> click.ClickException:
    """Escape the error's text, because a shell can complete hostile names, and name the option for a bare one."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):  # the help has no foreign names
        return error
    surplus = _SURPLUS.fullmatch(error.message)
    if surplus and isinstance(error, click.UsageError) and error.ctx:
        from leadsman.cli.surplus import suggestion

        given = [each for each in error.ctx.meta.get(_GIVEN, ()) if f"{surplus[1]} ".startswith(f"{each} ")]
        error.message = f"{error.message}. {suggestion(max(given, key=len, default=''), error.ctx)}".rstrip(" .")
    error.message = plain(error.message, MESSAGE)
    return error


def _split_examples(command: click.Command) -> None:
    """Put each example on its own line, which click does not wrap."""
    if command.epilog and not command.epilog.startswith("\b"):
        heading, _, examples = command.epilog.partition(" ")
        command.epilog = "\n".join(["\b", heading, *(f"  {each}" for each in examples.split("; "))])
    for below in command.commands.values() if isinstance(command, click.Group) else ():
        _split_examples(below)


class Commands(click.Group):
    """The commands under their headings. An error that the user can fix is one sentence, not a traceback.

    Each command is a module of its name next to this one (with `_` for `-`), which defines a click command named
    `command`.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command. Raises WrongUsage if its extra is not installed."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        try:
            command: click.Command = import_module(f"leadsman.cli.{cmd_name.replace('-', '_')}").command
        except ModuleNotFoundError as error:
            extra = EXTRAS.get((error.name or "").partition(".")[0])
            if extra is None:
                raise
            raise WrongUsage(f"{cmd_name} needs an extra: in a checkout, pipx install --force '.[{extra}]'") from None
        _split_examples(command)
        if not any(param.name == "no_color" for param in command.params):
            command.params.append(no_color())
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command. Raises UsageError for an unknown one, with the nearest name."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"No such command {args[0]!r}. {nearest(args[0], COMMANDS)}".strip())
        ctx.meta[_GIVEN] = tuple(args)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete options, and commands with their help texts, without importing these."""
        found = [CompletionItem(name, help=line) for name, line in COMMANDS.items() if name.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        width = max(map(len, COMMANDS))
        for heading, commands in SECTIONS.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), line) for name, line in commands.items()])

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        try:
            return super().make_context(*arguments, **options)
        except click.ClickException as error:
            raise _seen(error) from None

    def invoke(self, ctx: click.Context) -> Any:
        raise_file_limit()
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            fail("interrupted; stored data stays, and the same command resumes the rest", EXIT_INTERRUPTED)
        except click.ClickException as error:
            raise _seen(error) from None
        except Exception as error:
            found = mistake(error)
            if found is None:
                raise
            fail(*found)


app: Final = Commands(
    name="leadsman",
    help="Explains node pressure, evictions, image GC, NUMA and scheduling of Kubernetes nodes.\n\n" + EXITS,
    params=[no_color()],
    context_settings={"show_default": True, "help_option_names": ["-h", "--help"]},
)
click.version_option(package_name="leadsman", message="%(prog)s %(version)s")(app)
