"""Consoles for answers: words and tables on standard output, notes on standard error."""

import sys
from typing import Final

from rich.console import Console

WIDE: Final = 4096
out: Final = Console(highlight=False, markup=False)
"""Text: wrapped at the terminal's width."""
err: Final = Console(highlight=False, markup=False, stderr=True)
"""Notes to the user, separate from the result."""
wide: Final = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else WIDE)
"""Tables: whole lines if no terminal sets a width."""
