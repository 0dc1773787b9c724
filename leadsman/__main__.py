"""The `leadsman` command: it runs `leadsman.cli`, and handles Ctrl-C while that is still being imported."""

import os
import sys
from contextlib import suppress
from typing import NoReturn

EXIT_INTERRUPTED = 130


def main() -> NoReturn:
    """Run the command and exit with its status.

    What is left then is all closed but the interpreter itself, which would take apart a million objects: a sixth of
    the time of a query.
    """
    try:
        from leadsman.cli.main import app  # noqa: PLC0415 - Ctrl-C meanwhile is no traceback

        app()
    except KeyboardInterrupt:
        sys.stderr.write("leadsman: interrupted\n")
        status = EXIT_INTERRUPTED
    except SystemExit as ending:
        status = ending.code if isinstance(ending.code, int) else 0
    with suppress(BrokenPipeError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
