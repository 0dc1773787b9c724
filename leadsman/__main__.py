"""The `leadsman` command: it hands over to `leadsman.cli`, and answers Ctrl-C while that is still being imported."""

import sys
from typing import NoReturn

EXIT_INTERRUPTED = 130


def main() -> NoReturn:
    """Run the command."""
    try:
        from leadsman.cli.main import run  # noqa: PLC0415 - seconds, in which Ctrl-C is no traceback

        run()
    except KeyboardInterrupt:
        sys.stderr.write("leadsman: interrupted\n")
        sys.exit(EXIT_INTERRUPTED)


if __name__ == "__main__":
    main()
