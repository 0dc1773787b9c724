"""The `leadsman` command: runs `leadsman.cli`, and handles Ctrl-C while that is still being imported."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

EXIT_INTERRUPTED = 130
PLUGIN = "kubectl leadsman"


def main() -> NoReturn:
    _run(sys.argv[1:], None)


def kubectl() -> NoReturn:
    """`kubectl leadsman`: the same command, and `look` if no command is named."""
    from leadsman.cli.main import COMMANDS  # noqa: PLC0415 - as below

    arguments = sys.argv[1:]
    named = bool(arguments) and arguments[0] in {*COMMANDS, "-h", "--help", "--version"}
    _run(arguments if named else ["look", *arguments], PLUGIN)


def kubectl_complete() -> None:
    """Complete `kubectl leadsman` for kubectl, from the words after it; the last word is unfinished."""
    from leadsman.cli.completion import for_kubectl  # noqa: PLC0415 - as below
    from leadsman.cli.main import COMMANDS, app  # noqa: PLC0415

    *words, begun = sys.argv[1:] or [""]
    named = words[0] in COMMANDS if words else not begun.startswith("-")
    sys.stdout.write(for_kubectl(app, PLUGIN, words if named else ["look", *words], begun))


def _run(arguments: Sequence[str], name: str | None) -> NoReturn:
    """Run the command and exit with its status.

    Everything is closed at this point, so the interpreter exits without freeing a million objects, which would take a
    sixth of the time of a query.
    """
    try:
        from common.cycles import rare_cycle_searches  # noqa: PLC0415 - Ctrl-C during the import gives no traceback
        from leadsman.cli.main import app  # noqa: PLC0415

        with rare_cycle_searches():
            app(list(arguments), prog_name=name)
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
