"""Configures the log of a running part: one line for each event, as text or JSON, without control characters or
secrets.
"""

import logging
import os
import sys
from collections.abc import MutableMapping
from typing import Any, Final, Literal, TextIO, TypeAlias

import structlog

from common.scrub import scrub
from common.text import plain

Form: TypeAlias = Literal["text", "json"]
VALUE_CHARACTERS: Final = 2000


def configure(form: Form, out: TextIO | None = None) -> None:
    """Configure logging for the whole process: ours goes to `out`, by default standard output; warnings of libraries
    go to stderr.
    """
    shared: list[Any] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        safe,
    ]
    colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    as_json = structlog.processors.JSONRenderer(sort_keys=False, default=str)
    render: Any = as_json if form == "json" else structlog.dev.ConsoleRenderer(colors=colours)
    structlog.configure(
        processors=[*shared, render],
        logger_factory=structlog.WriteLoggerFactory(out or sys.stdout),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processor=render, foreign_pre_chain=shared))
    handler.setLevel(logging.WARNING)
    logging.getLogger().handlers = [handler]


def safe(_: Any, __: str, happening: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Remove secrets and escape control characters in every text; leave other values unchanged."""
    for name, value in happening.items():
        if isinstance(value, str) and name != "exception":
            happening[name] = plain(scrub(value), VALUE_CHARACTERS)
        elif name == "exception":
            happening[name] = "\n".join(plain(scrub(line), VALUE_CHARACTERS) for line in str(value).splitlines())
        elif isinstance(value, list | tuple | set | dict):
            happening[name] = plain(scrub(str(value)), VALUE_CHARACTERS)
    return happening
