"""What every command prints to and ends with."""

import sys
from typing import Final, NoReturn

from rich.console import Console

from common.text import plain

EXIT_NO_FIT: Final = 1


EXIT_USAGE: Final = 2


EXIT_BAD_INPUT: Final = 3


EXIT_NO_SOURCE: Final = 4


EXIT_NO_DATABASE: Final = 5


EXIT_SCHEMA: Final = 6


EXIT_QUERY: Final = 7


EXIT_NO_KAFKA: Final = 8


EXIT_INTERRUPTED: Final = 130


MESSAGE: Final = 2000
"""Characters of an error."""


EXITS: Final = """
Exit status: 0 done; 1 fit found no room; 2 wrong usage; 3 done, but some input was bad (see dead_letters); 4 a
source cannot be used; 5 the database cannot be used; 6 its schema is newer, or a migration changed or is missing; 7
a query was refused; 8 Kafka cannot be used; 130 interrupted.
"""


out = Console(highlight=False, markup=False)
"""Words: wrapped at the terminal's width."""


wide = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 4096)
"""Tables: whole lines where no terminal sets a width."""


err = Console(stderr=True, highlight=False, markup=False)


def say(line: str) -> None:
    err.print(plain(line, MESSAGE), soft_wrap=True)


def say_nothing(line: str) -> None:
    """Quiet."""


def fail(message: str, status: int) -> NoReturn:
    err.print(f"leadsman: {plain(message, MESSAGE)}", soft_wrap=True)
    sys.exit(status)
