"""Checks command-line arguments during parsing, so that a mistake does no work and leaves nothing behind."""

import stat
from pathlib import Path
from typing import Any, Final

import click

from common.errors import SourceUnusable, WrongUsage
from common.text import plain
from ingest.apiserver.kubeconfig import check

DEFAULT_DSN: Final = "chdb://leadsman-db"
PIPED: Final = Path("-")
_MOST_NAMED: Final = 5


class ReadableFile(click.Path):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path. Raises WrongUsage for a file that cannot be opened, before a command begins to work."""
        path = Path(str(super().convert(value, param, ctx)))
        try:
            if not path.is_fifo():  # it can be read only once
                path.open("rb").close()
        except OSError as error:
            option = f"{param.opts[0]} " if param else ""
            raise WrongUsage(f"{option}{plain(path)}: cannot be read: {plain(error.strerror)}") from None
        return path


class Kubeconfig(click.Path):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path. Raises KubeconfigUnusable for one that does not exist."""
        path = Path(str(super().convert(value, param, ctx)))
        check(path)
        return path


def readable_sources(ctx: click.Context, param: click.Parameter, paths: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the paths, if all can be opened and one has content. Raises SourceUnusable, before any work."""
    del ctx, param
    for path in paths:
        _openable(path)
        if path.is_dir():
            from ingest.files.sniff import folder_files

            folder_files(path)
    if paths and all(path.is_file() and not path.stat().st_size for path in paths):
        raise SourceUnusable("; ".join(f"{plain(path)}: the file is empty" for path in paths[:_MOST_NAMED]))
    return paths


def _openable(path: Path) -> None:
    if path == PIPED:
        return
    try:
        mode = path.stat().st_mode
        if stat.S_ISREG(mode):
            path.open("rb").close()
        elif stat.S_ISDIR(mode):
            next(path.iterdir(), None)
    except FileNotFoundError:
        address = path.parts[0] in {"http:", "https:"}
        reason = "an address cannot be read. Download it, and name the file" if address else "no such file or folder"
        raise SourceUnusable(f"{plain(path)}: {reason}") from None
    except OSError as error:
        raise SourceUnusable(f"{plain(path)}: cannot be opened: {plain(error.strerror)}") from None


def existing_database(ctx: click.Context, param: click.Parameter, dsn: str) -> str:
    """Return the address. Raises DatabaseError if its folder is missing, before a command begins to work."""
    from sql.database.dsn import existing

    del param
    if not ctx.resilient_parsing:
        existing(dsn)
    return dsn
