"""Consoles for answers: words and tables on standard output, notes on standard error."""

import sys
from typing import Final

from rich.console import Console

WIDE: Final = 4096
out: Final = Console(highlight=False, markup=False)
"""Words: wrapped at the terminal's width."""
err: Final = Console(highlight=False, markup=False, stderr=True)
"""Notes for the user, apart from the result."""
wide: Final = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else WIDE)
"""Tables: whole lines where no terminal sets a width."""
