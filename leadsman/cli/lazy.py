"""A group that knows its commands by name and line: a command's module is imported when the command is called."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from common.errors import WrongUsage
from common.nearest import nearest

EXTRAS: Final[Mapping[str, str]] = {"google": "agent", "grpc": "agent"}
"""The extra that brings a package, for packages that are imported with a command."""


class LazyGroup(click.Group):
    """Commands under headings; the module `PACKAGE.NAME` (with `_` for `-`) has a click command named `command`."""

    def __init__(self, *, package: str, sections: Mapping[str, Mapping[str, str]], **settings: Any) -> None:
        """`sections` has the help's line of each command, by heading and name."""
        super().__init__(**settings)
        self._package = package
        self._sections = sections

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return [name for commands in self._sections.values() for name in commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Raises WrongUsage for a command whose extra is not installed."""
        if cmd_name not in self.list_commands(ctx):
            return None
        try:
            module = import_module(f"{self._package}.{cmd_name.replace('-', '_')}")
        except ModuleNotFoundError as error:
            extra = EXTRAS.get((error.name or "").partition(".")[0])
            if extra is None:
                raise
            raise WrongUsage(f"{cmd_name} needs an extra: pip install 'leadsman[{extra}]'") from None
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Raises UsageError for a command that is not there, with the nearest."""
        if self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            ctx.fail(f"No such command {args[0]!r}. {nearest(args[0], self.list_commands(ctx))}".strip())
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands with their lines, none of which is imported for it, and options."""
        lines = [item for commands in self._sections.values() for item in commands.items()]
        found = [CompletionItem(name, help=line) for name, line in lines if name.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self.list_commands(ctx)))
        for heading, commands in self._sections.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), line) for name, line in commands.items()])
