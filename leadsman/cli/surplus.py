"""Suggests the option for a word that a command did not expect, such as the bare name of a node."""

from pathlib import Path
from typing import Final

import click

from common.text import argument
from leadsman.cli.exits import MESSAGE

NAMING: Final = ("node", "namespace", "cluster")
_POD: Final = "pending"
"""The parameter of `fit` that names a pod."""


def suggestion(word: str, ctx: click.Context) -> str:
    """Return a sentence with the options that take such a word; empty if the command has none."""
    if len(word) > MESSAGE or not word.strip():
        return ""
    options = {param.name: param.opts[0] for param in ctx.command.params if isinstance(param, click.Option)}
    if "db" in options and _is_file(word):
        return f"To ask about a file, replay it first: leadsman replay {argument(word)}"
    names = (_POD,) if _POD in options and "/" in word else _naming_options(ctx)
    found = [f"{options[name]} {argument(word)}" for name in names if name in options]
    return f"Did you mean {' or '.join(filter(None, (', '.join(found[:-1]), found[-1])))}?" if found else ""


def _is_file(word: str) -> bool:
    """Return False also for a word that no file system takes, and in a folder that may not be read."""
    try:
        return Path(word).exists()
    except (OSError, ValueError):
        return False


def _naming_options(ctx: click.Context) -> tuple[str, ...]:
    """Return the names of options; of a saved question, those that it has."""
    question = ctx.params.get("name")
    if ctx.command.name != "query" or not question:
        return NAMING
    from sql.questions.queries import UnknownQuery, saved_query

    try:
        known = {each.name for each in saved_query(question).parameters}
    except UnknownQuery:
        return NAMING
    return tuple(name for name in NAMING if name in known)
