"""Files of the machine below, read whole and with a limit."""

from pathlib import Path
from typing import Final

from common.text import plain

LIMIT_BYTES: Final = 4 * 1024 * 1024
"""Far more than the checkpoints of a node with 500 pods."""


class CannotReadError(ValueError):
    """Something of the machine cannot be read now; the message names it and the reason."""


def is_there(path: Path) -> bool:
    """Tell whether there is such a file, folder or socket; raises CannotReadError if that cannot be determined."""
    try:
        return path.exists()
    except OSError as error:
        raise CannotReadError(f"{plain(path)}: {plain(error.strerror)}") from None


def read_file(path: Path) -> str:
    """The text of a file. Raises CannotReadError, also for more than 4 MiB and for what is not UTF-8."""
    try:
        with path.open("rb") as file:
            data = file.read(LIMIT_BYTES + 1)
        if len(data) > LIMIT_BYTES:
            raise CannotReadError(f"{plain(path)}: is longer than {LIMIT_BYTES >> 20} MiB")
        return data.decode()
    except FileNotFoundError:
        raise CannotReadError(f"{plain(path)}: is not there; is the machine's folder mounted?") from None
    except OSError as error:
        raise CannotReadError(f"{plain(path)}: {plain(error.strerror)}") from None
    except UnicodeDecodeError:
        raise CannotReadError(f"{plain(path)}: the text is not UTF-8") from None
