"""The `leadsman` command: it hands over to `leadsman.cli`, and answers Ctrl-C while that is still being imported."""

import sys

EXIT_INTERRUPTED = 130


def main() -> None:
    """Run the command and exit with its status."""
    try:
        from leadsman.cli.main import app  # noqa: PLC0415 - Ctrl-C meanwhile is no traceback

        app()
    except KeyboardInterrupt:
        sys.stderr.write("leadsman: interrupted\n")
        sys.exit(EXIT_INTERRUPTED)


if __name__ == "__main__":
    main()
